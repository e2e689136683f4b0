// SPDX-License-Identifier: Apache-2.0
#include "solver/io/hash.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "solver/error.hpp"

namespace optinc {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_) throw std::bad_alloc();
    require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  }

  void update(std::string_view piece) {
    require(EVP_DigestUpdate(context_.get(), piece.data(), piece.size()));
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &length));
    std::string text;
    for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest.at(i));
    return text;
  }

 private:
  static void require(int status) {
    if (status != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

[[noreturn]] void throw_unreadable(const std::filesystem::path& path) {
  throw DataError(fmt::format("cannot read {} ({}); check the path and its permissions",
                              path.string(), std::generic_category().message(errno)));
}

}  // namespace

std::string sha256_hex(std::string_view content) {
  Sha256 hash;
  hash.update(content);
  return hash.hex();
}

std::string sha256_file_hex(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_unreadable(path);
  Sha256 hash;
  std::array<char, 65536> piece{};
  do {
    errno = 0;
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (file.bad()) throw_unreadable(path);
    hash.update({piece.data(), static_cast<std::size_t>(file.gcount())});
  } while (file);
  return hash.hex();
}

}  // namespace optinc
