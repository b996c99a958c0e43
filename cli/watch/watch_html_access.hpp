#pragma once

#include <string>
#include <string_view>

#include "engine/base/mutex.hpp"

namespace acid {

/// Who may see what a server on 127.0.0.1 shows, where other people and other web pages reach it
/// too: the first browser that brings the token, by a cookie that it gets for it. Both are 128 bits
/// from the system's random source, and compared in constant time. Any thread.
class PageAccess {
 public:
  /// `port`: where the server listens.
  explicit PageAccess(int port);

  const std::string& token() const { return token_; }
  /// True for this token the first time, and never again.
  bool redeem(std::string_view token);

  /// A Set-Cookie header's value for who redeemed the token: for this session of the browser, kept
  /// from scripts, and sent with no request that another site causes.
  std::string cookie() const;
  /// `cookies`: a request's Cookie header.
  bool admits(std::string_view cookies) const;
  /// Whether a request's Host header names this server by its address: another name that leads here
  /// belongs to somebody who wants to read the page with a script of theirs.
  bool is_our_host(std::string_view host) const;

 private:
  const int port_;
  const std::string name_;  // of the cookie: browsers keep one jar for all ports
  const std::string token_, session_;
  Mutex mutex_;
  bool redeemed_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
