// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "apps/cli.hpp"

int main(int argc, char* argv[]) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return optinc::run_cli(args, std::cout, std::cerr, isatty(STDERR_FILENO) == 1);
}
