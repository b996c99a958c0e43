#pragma once

#include <string>

namespace acid {

/// Asks the desktop to open an address that holds a secret. Other users can read the arguments of a
/// program, so the argument is a file that only this user can read and that leads to the address.
/// The file lives as long as the object.
class OpenedAddress {
 public:
  /// Throws Error when no program opens addresses here or the file cannot be written.
  explicit OpenedAddress(const std::string& address);
  ~OpenedAddress();
  OpenedAddress(const OpenedAddress&) = delete;
  OpenedAddress& operator=(const OpenedAddress&) = delete;

 private:
  std::string file_;
};

}  // namespace acid
