// Text of unknown origin on its way to a terminal, to JSON and into error messages.
#include <nlohmann/json.hpp>

#include "engine/base/utf8.hpp"
#include "recipes/diagnostics.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

// A second opinion: nlohmann's serialiser refuses text that is not UTF-8.
bool is_json_text(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void check_text(std::string_view text, std::size_t width) {
  ACID_ASSERT(is_valid_utf8(text) == is_json_text(text), "no agreement about {} bytes",
              text.size());
  const std::u32string characters = printable(text);
  ACID_ASSERT(characters.size() <= text.size(), "{} of {} bytes", characters.size(), text.size());
  const std::string shown = to_utf8(characters);
  ACID_ASSERT(is_valid_utf8(shown), "'{}'", shown);
  ACID_ASSERT(printable(shown) == characters, "showing it twice changes it: '{}'", shown);
  const std::string clipped = clip(text, width);
  ACID_ASSERT(is_valid_utf8(clipped), "'{}'", clipped);
  ACID_ASSERT(printable(clipped).size() <= width, "'{}' is longer than {}", clipped, width);
  for (const char32_t c : characters) ACID_ASSERT(c >= 0x20, "control character {}", int(c));
}

void check_diagnostic(const std::string& text, const Place& place) {
  Diagnostics diagnostics("recipe.toml", text, {text});
  diagnostics.error(place, "message", "remedy");
  for (const Diagnostic& diagnostic : diagnostics.errors()) {
    const std::string shown = render(diagnostic);
    ACID_ASSERT(is_valid_utf8(shown), "'{}'", shown);
  }
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  Input input(data, size);
  acid::Place place{.line = input.number<std::uint8_t>(),
                    .column = input.number<std::uint16_t>(),
                    .length = input.number<std::uint16_t>()};
  if (place.line > 200) place.override_index = 0;
  const std::string text(text_of(input.rest()));
  check_text(text, 1 + static_cast<std::size_t>(place.column));
  check_diagnostic(text, place);
  return 0;
}
