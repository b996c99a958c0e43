#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace acid {

/// Lines at the end of a terminal that are drawn again in place. On standard output.
class LiveScreen {
 public:
  struct Size {
    int columns = 80;
    int rows = 24;
  };
  /// The present size of the terminal on standard output.
  static Size size();

  /// Replaces the lines of the last call. No line may be wider than the terminal or contain a line
  /// end; escape sequences that take no room are allowed.
  void draw(const std::vector<std::string>& lines);

 private:
  std::size_t drawn_ = 0;  // lines above the cursor that were drawn
};

}  // namespace acid
