#include "engine/data/sparse_rows.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

SparseRows read(const std::string& content) {
  const ScratchFolder folder;
  folder.write("data.libsvm", content);
  return read_libsvm(folder.path("data.libsvm"));
}

std::string error_of(const std::string& content) {
  return message_of([&] { read(content); });
}

}  // namespace

TEST_CASE("A LIBSVM file is read with its comments, blank lines and signs") {
  const SparseRows rows = read(
      "# a comment line\n"
      "+1 1:0.5 3:-2e-1 # trailing\n"
      "\n"
      "-1  2:+4 \r\n"
      "-1\n"
      "1 5:1");  // no newline at the end
  CHECK(rows.size() == 4);
  CHECK(rows.columns() == 5);
  CHECK(rows.label(0) == 1);
  CHECK(rows.label(1) == 0);
  CHECK(rows.label(3) == 1);
  CHECK(features(rows, 0, 5) == std::vector<float>{0.5f, 0, -0.2f, 0, 0});
  CHECK(features(rows, 1, 5) == std::vector<float>{0, 4, 0, 0, 0});
  CHECK(features(rows, 2, 5) == std::vector<float>(5));
  CHECK(rows.row(3).columns[0] == 4);
}

TEST_CASE("LIBSVM labels -1 and +1, 0 and 1, or 1 and 2 become classes 0 and 1") {
  for (const auto& [low, high] :
       {std::pair("-1", "+1"), std::pair("0", "1"), std::pair("1", "2"), std::pair("1.0", "2.0")}) {
    const SparseRows rows = read(fmt::format("{} 1:1\n{} 1:2\n", high, low));
    CHECK(rows.label(0) == 1);
    CHECK(rows.label(1) == 0);
  }
}

TEST_CASE("A gzipped LIBSVM file is read like a plain one") {
  const ScratchFolder folder;
  write_gzip(folder, "data.gz", "1 1:1\n2 2:1\n");
  CHECK(read_libsvm(folder.path("data.gz")).columns() == 2);
}

TEST_CASE("LIBSVM errors name the line, what was expected and what was found") {
  using Words = std::vector<std::string>;
  for (const auto& [content, says] : std::initializer_list<std::pair<const char*, Words>>{
           {"1 1:1\n\nx 1:1\n", {"data.libsvm:3:", "'x'"}},
           {"1 1:1\n2 1\n", {":2:", "index:value"}},
           {"1 0:1\n", {":1:", "index above 0"}},
           {"1 3:1 3:1\n", {"index above 3", "'3:1'"}},
           {"1 -2:1\n", {"'-2:1'"}},
           {"1 1:1\n2 9999999999:1\n",
            {"data.libsvm:2:", "index up to 268435456", "'9999999999:1'"}},
           {"1 268435457:1\n", {":1:", "index up to 268435456"}},
           {"1 :1\n", {"index above 0"}},
           {"1 1:abc\n", {"finite value"}},
           {"1 1:nan\n", {"finite value"}},
           {"1 1:1e99\n", {"finite value"}},
           {"1 1:-1e400\n", {"finite value"}},
           {"1 1:1e-50x\n", {"finite value"}},
           {"1 1:\n", {"finite value"}},
           {"1 1:1 2:2x\n", {"'2:2x'"}},
           {"1 1:+-5\n", {"finite value"}},
           {"+-1 1:1\n", {"'+-1'"}},
           // What is often no file of two classes is told what it is.
           {"1 qid:3 1:1\n", {"without queries"}},
           {"1 0:1 1:1\n", {"zero_based=False"}},
           {"3 1:1\n", {"kind = \"npy\""}},
           {"\xFF\xFE"
            "1\n",
            {"UTF-16"}},
           // Other than exactly two known classes.
           {"7 1:1\n", {":1:", "0 and 1"}},
           {"0 1:1\n1 1:1\n2 1:1\n", {":3:", "0 (line 1)", "1 (line 2)"}},
           {"0 1:1\n1 1:1\n-1 1:1\n", {":3:"}},
           {"-1 1:1\n2 1:1\n", {":2:"}},
           {"-1 1:1\n0 1:1\n", {":2:", "found -1 and 0"}},
           {"0 1:1\n2 1:1\n", {":2:"}},
           {"1 1:1\n1 1:1\n", {"two classes"}},
           {"", {"two classes", "found 0"}},
           {"1\n2\n", {"labels only"}}}) {
    const std::string error = error_of(content);
    for (const std::string& words : says) CHECK_THAT(error, ContainsSubstring(words));
  }
  CHECK(read("\xEF\xBB\xBF-1 1:1\n1 1:2\n").size() == 2);
  CHECK_THROWS_AS(read_libsvm("/no/such/file"), Error);
}

// Expected values are those of numpy.float32.
TEST_CASE("A LIBSVM value that is too small for a float is 0 or the subnormal float next to it") {
  const SparseRows rows = read("1 1:1e-50 2:-1e-40 3:1e-400 4:+3e-46\n2 1:1\n");
  CHECK(features(rows, 0, 4) == std::vector<float>{0, -1e-40F, 0, 0});
}

}  // namespace acid::testing
