// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "apps/cli.hpp"

int main(int argc, char* argv[]) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  // A file that grows over its limit is then a write error with a message, and what it would have
  // replaced stays.
  std::signal(SIGXFSZ, SIG_IGN);
  return optinc::run_cli(args, std::cout, std::cerr, isatty(STDERR_FILENO) == 1);
}
