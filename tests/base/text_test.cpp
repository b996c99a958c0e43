#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("SHA-256 gives the published values") {
  CHECK(sha256_hex(std::string_view("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string_view("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 in_pieces;
  in_pieces.update("a");
  in_pieces.update("bc");
  CHECK(in_pieces.hex() == sha256_hex(std::string_view("abc")));
}

TEST_CASE("the digest of a file is that of its content") {
  const auto path =
      std::filesystem::temp_directory_path() / ("acid_digest_test_" + std::to_string(getpid()));
  const std::string content(3'000'000, 'x');  // several blocks
  std::ofstream(path, std::ios::binary) << content;
  CHECK(sha256_file(path.string()) == sha256_hex(std::string_view(content)));
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(sha256_file(path.string()), ContainsSubstring("cannot read"));
}

TEST_CASE("a count comes with the right number of its noun") {
  CHECK(counted(0, "run") == "0 runs");
  CHECK(counted(1, "measured value") == "1 measured value");
  CHECK(counted(2, "worker") == "2 workers");
}

TEST_CASE("the nearest name is the one a person meant") {
  const std::vector<std::string> known = {"ring", "star", "exponential", "momentum"};
  CHECK(nearest_name("rign", known) == "ring");
  CHECK(nearest_name("exponental", known) == "exponential");
  CHECK(nearest_name("momentun", known) == "momentum");
  CHECK(nearest_name("learning_rate", known) == std::nullopt);
  CHECK(nearest_name("x", {}) == std::nullopt);
  const std::vector<std::string> drivers = {"virtual", "threads", "mpi"};
  CHECK(nearest_name("gpu", drivers) == std::nullopt);
  CHECK(nearest_name("mip", drivers) == "mpi");
}

TEST_CASE("a quotation that has a zero byte does not end the message") {
  CHECK(clip(std::string_view("1:2\0x", 5), 40) == "1:2?x");
}

TEST_CASE("lists read as English") {
  const std::vector<std::string> three = {"a", "b", "c"};
  CHECK(one_of(three) == "a, b or c");
  CHECK(one_of(std::span(three).first(1)) == "a");
  CHECK(one_of({}).empty());
}

TEST_CASE("shell words are quoted only where a shell would take them apart") {
  CHECK(quoted_for_shell("optimizer.learning_rate=0.1") == "optimizer.learning_rate=0.1");
  CHECK(quoted_for_shell("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(quoted_for_shell("") == "''");
  CHECK(set_options(std::vector<std::string>{"a=1", "b=x y"}) == " --set a=1 --set 'b=x y'");
}

TEST_CASE("text is blank where nothing of it is seen") {
  for (const char* blank : {"", " ", "\t\n", "\u00a0", "\u3000 \u2003", "\u200b", "\u00ad\u2061"}) {
    INFO('"' << blank << '"');
    CHECK(is_blank(blank));
  }
  for (const char* seen : {"a", " .", "\u00a0é", "界", "\xff"}) CHECK_FALSE(is_blank(seen));
}

TEST_CASE("fallbacks complete options, and required ones must be there") {
  const std::array fields = {
      Field{.name = "p", .type = FieldType::number, .fallback = "0.5", .help = ""},
      Field{.name = "q", .type = FieldType::integer, .fallback = "", .help = ""}};
  const auto options = with_fallbacks(fields, {{"q", 3}});
  CHECK(number(options, "p") == 0.5);
  CHECK(integer(options, "q") == 3);
  CHECK_THROWS_AS(with_fallbacks(fields, nlohmann::json::object()), AssertionError);
  CHECK_THROWS_AS(number(options, "r"), nlohmann::json::exception);
}
