#include "cli/terminal/live_screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal/session.hpp"
#include "reports/text_table.hpp"

namespace acid {

LiveScreen::Size LiveScreen::size() {
  winsize found{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > 0)
    return {found.ws_col, found.ws_row};
  return {};
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  std::string text = drawn_ > 0 ? fmt::format("\r\x1b[{}A", drawn_) : "";
  for (const std::string& line : lines) text += seen_on_terminal(line) + "\x1b[K\n";
  text += "\x1b[J";  // erases what stood below
  print_raw(text);   // in one piece, so that lines do not flicker
  flush_data();
  drawn_ = lines.size();
}

}  // namespace acid
