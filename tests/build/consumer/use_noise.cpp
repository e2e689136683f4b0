// SPDX-License-Identifier: Apache-2.0
#include "noise/stream.hpp"

int main() {
  // Known answer of Philox4x32-10 for an all-zero counter and key (Random123, kat_vectors).
  const optinc::RandomWords words = optinc::random_words({});
  return words.word[0] == 0x6627e8d5 && words.word[3] == 0x9b00dbd8 ? 0 : 1;
}
