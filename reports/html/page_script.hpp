#pragma once

#include <string_view>

namespace acid {

/// What the build made of reports/page: empty where it was built without npm.
struct PageScript {
  std::string_view script;  // the page's own code
  std::string_view style;   // what they need besides the page's style sheet
};
PageScript page_script();

}  // namespace acid
