#pragma once

#include <string_view>

namespace acid {

/// What the build made of reports/page: empty where it was built without npm.
struct PageScript {
  std::string_view script;  // uPlot and the page's own code, with uPlot's licence notice
  std::string_view style;   // what they need besides the page's style sheet
};
PageScript page_script();

}  // namespace acid
