#pragma once

#include <string>
#include <string_view>

#include "engine/base/mutex.hpp"

namespace acid {

/// Decides who may see what a server on 127.0.0.1 shows, where other users and other web pages
/// reach it too: the first browser that brings the token, and from then on the cookie that this
/// browser gets. Token and cookie are 128 bits from the system's random source, and compared in
/// constant time. Any thread.
class PageAccess {
 public:
  /// `port`: where the server listens.
  explicit PageAccess(int port);

  const std::string& token() const { return token_; }
  /// True the first time this token is given, and never again.
  bool redeem(std::string_view token);

  /// The Set-Cookie header's value for the browser that redeemed the token: valid for this session
  /// of the browser, hidden from scripts, and not sent with a request that another site causes.
  std::string cookie() const;
  /// `cookies`: a request's Cookie header.
  bool admits(std::string_view cookies) const;
  /// Whether a request's Host header names this server by its address. Another name that leads here
  /// may be that of an attacker who wants to read the page with a script.
  bool is_our_host(std::string_view host) const;

 private:
  const int port_;
  const std::string name_;  // of the cookie; unique, since browsers share cookies between ports
  const std::string token_, session_;
  Mutex mutex_;
  bool redeemed_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
