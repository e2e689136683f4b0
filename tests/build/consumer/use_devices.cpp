// SPDX-License-Identifier: Apache-2.0
#include "devices/mzi.hpp"

int main() {
  const optinc::Transfer2x2<double> cross = optinc::mzi(optinc::MziState<double>{});
  return std::abs(cross.m12.im - 1) < 1e-12 && std::abs(cross.m11.im) < 1e-12 ? 0 : 1;
}
