#pragma once

#include <string>
#include <string_view>

namespace acid {

/// The page's only style sheet. Its hash is in the page's content security policy.
std::string_view style_sheet();

/// A short line in a series' colour and dash with its marker, for legends and tables.
std::string swatch(int style);

}  // namespace acid
