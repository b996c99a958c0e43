# acid_font(OUT FILE): the C++ source that holds the font of figures.
function(acid_font out file)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/figure_font_file.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[// Made from reports/figure.
#include <cstddef>
#include <span>

namespace acid {

static const unsigned char kFigureFontFile[] = {@bytes@};

std::span<const std::byte> figure_font_file() {
  return std::as_bytes(std::span(kFigureFontFile));
}

}  // namespace acid
]])
  set(${out} ${source} PARENT_SCOPE)
endfunction()
