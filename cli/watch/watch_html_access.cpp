#include "cli/watch/watch_html_access.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/base/error.hpp"

namespace acid {
namespace {

std::string random_hex() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(fmt::format("cannot get random numbers from the system: {}", std::strerror(errno)));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

PageAccess::PageAccess(int port)
    : port_(port),
      name_(fmt::format("acid-watch-{}", port)),
      token_(random_hex()),
      session_(random_hex()) {}

bool PageAccess::redeem(std::string_view token) {
  const bool right = same_secret(token, token_);
  const MutexLock lock(mutex_);
  if (!right || redeemed_) return false;
  redeemed_ = true;
  return true;
}

std::string PageAccess::cookie() const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", name_, session_);
}

bool PageAccess::admits(std::string_view cookies) const {
  bool found = false;
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (!cookie.empty() && cookie.front() == ' ') cookie.remove_prefix(1);
    const std::size_t equals = cookie.find('=');
    if (equals == std::string_view::npos || cookie.substr(0, equals) != name_) continue;
    found = same_secret(cookie.substr(equals + 1), session_) || found;
  }
  return found;
}

bool PageAccess::is_our_host(std::string_view host) const {
  for (const std::string_view name : {"127.0.0.1", "localhost"})
    if (host == fmt::format("{}:{}", name, port_) || (port_ == 80 && host == name)) return true;
  return false;
}

}  // namespace acid
