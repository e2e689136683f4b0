// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace optinc::test {

/// Numbers the way much of Europe prints them.
class CommaNumbers : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// The process in another locale for the length of a scope.
class ScopedLocale {
 public:
  ScopedLocale() : old_(std::locale::global(std::locale(std::locale(), new CommaNumbers))) {
    // Where it is installed; the facet above works everywhere.
    std::setlocale(LC_ALL, "de_DE.UTF-8");
  }
  ~ScopedLocale() {
    std::locale::global(old_);
    std::setlocale(LC_ALL, "C");
  }
  ScopedLocale(const ScopedLocale&) = delete;
  ScopedLocale& operator=(const ScopedLocale&) = delete;

 private:
  std::locale old_;
};

}  // namespace optinc::test
