// SPDX-License-Identifier: Apache-2.0
#include "apps/cli.hpp"

#include <iostream>

int main(int argc, char* argv[]) {
  return optinc::run_cli(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
