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
  folder.write_gzip("data.gz", "1 1:1\n2 2:1\n");
  CHECK(read_libsvm(folder.path("data.gz")).columns() == 2);
}

TEST_CASE("LIBSVM errors name the line, what was expected and what was found") {
  CHECK_THAT(error_of("1 1:1\n\nx 1:1\n"),
             ContainsSubstring("data.libsvm:3:") && ContainsSubstring("'x'"));
  CHECK_THAT(error_of("1 1:1\n2 1\n"),
             ContainsSubstring(":2:") && ContainsSubstring("index:value"));
  CHECK_THAT(error_of("1 0:1\n"), ContainsSubstring(":1:") && ContainsSubstring("index above 0"));
  CHECK_THAT(error_of("1 3:1 3:1\n"),
             ContainsSubstring("index above 3") && ContainsSubstring("'3:1'"));
  CHECK_THAT(error_of("1 -2:1\n"), ContainsSubstring("'-2:1'"));
  CHECK_THAT(error_of("1 9999999999:1\n"), ContainsSubstring("an index"));
  CHECK_THAT(error_of("1 1:abc\n"), ContainsSubstring("finite value"));
  CHECK_THAT(error_of("1 1:nan\n"), ContainsSubstring("finite value"));
  CHECK_THAT(error_of("1 1:1e99\n"), ContainsSubstring("finite value"));
  CHECK_THAT(error_of("1 1:\n"), ContainsSubstring("finite value"));
  CHECK_THAT(error_of("1 1:1 2:2x\n"), ContainsSubstring("'2:2x'"));
}

// Expected values are those of numpy.float32.
TEST_CASE("A LIBSVM value that is too small for a float is 0 or the subnormal float next to it") {
  const SparseRows rows = read("1 1:1e-50 2:-1e-40 3:1e-400 4:+3e-46\n2 1:1\n");
  CHECK(features(rows, 0, 4) == std::vector<float>{0, -1e-40F, 0, 0});
  CHECK_THAT(error_of("1 1:1e-50x\n"), ContainsSubstring("finite value"));
  CHECK_THAT(error_of("1 1:-1e400\n"), ContainsSubstring("finite value"));
}

TEST_CASE("What is often no LIBSVM file of two classes is told what it is") {
  CHECK(read("\xEF\xBB\xBF-1 1:1\n1 1:2\n").size() == 2);
  CHECK_THAT(error_of("1 qid:3 1:1\n"), ContainsSubstring("without queries"));
  CHECK_THAT(error_of("1 0:1 1:1\n"), ContainsSubstring("zero_based=False"));
  CHECK_THAT(error_of("3 1:1\n"), ContainsSubstring("kind = \"npy\""));
  CHECK_THAT(error_of("\xFF\xFE"
                      "1\n"),
             ContainsSubstring("UTF-16"));
}

TEST_CASE("LIBSVM files without exactly two known classes are refused") {
  CHECK_THAT(error_of("7 1:1\n"), ContainsSubstring(":1:") && ContainsSubstring("0 and 1"));
  CHECK_THAT(error_of("0 1:1\n1 1:1\n2 1:1\n"), ContainsSubstring(":3:") &&
                                                    ContainsSubstring("0 (line 1)") &&
                                                    ContainsSubstring("1 (line 2)"));
  CHECK_THAT(error_of("0 1:1\n1 1:1\n-1 1:1\n"), ContainsSubstring(":3:"));
  CHECK_THAT(error_of("-1 1:1\n2 1:1\n"), ContainsSubstring(":2:"));
  CHECK_THAT(error_of("0 1:1\n2 1:1\n"), ContainsSubstring(":2:"));
  CHECK_THAT(error_of("1 1:1\n1 1:1\n"), ContainsSubstring("two classes"));
  CHECK_THAT(error_of(""), ContainsSubstring("two classes") && ContainsSubstring("found 0"));
  CHECK_THAT(error_of("1\n2\n"), ContainsSubstring("labels only"));
  CHECK_THROWS_AS(read_libsvm("/no/such/file"), Error);
}

}  // namespace acid::testing
