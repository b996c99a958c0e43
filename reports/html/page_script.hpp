#pragma once

#include <string_view>

namespace acid {

/// The build's result of reports/page: empty if it was built without npm.
struct PageScript {
  std::string_view script;  // the page's own code
  std::string_view style;   // its styles besides the page's style sheet
};
PageScript page_script();

}  // namespace acid
