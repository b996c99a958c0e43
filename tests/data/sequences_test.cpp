// Texts and token arrays, cut into sequences for language models.
#include <set>

#include "tests/data/arrays.hpp"

namespace acid::testing {
namespace {

nlohmann::json text_of(const ScratchFolder& folder, std::int64_t sequence, double test = 0.1) {
  return {{"file", folder.path("text")}, {"sequence", sequence}, {"test", test}};
}

std::string letters(std::size_t count) {
  std::string content;
  for (std::size_t k = 0; k < count; ++k) content += static_cast<char>('a' + k * k % 26);
  return content;
}

std::vector<std::int64_t> labels(const Split& split, std::int64_t example, std::int64_t size) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size));
  split.copy_labels(example, out);
  return out;
}

}  // namespace

TEST_CASE("A sequence's labels are the bytes that follow its inputs") {
  const ScratchFolder folder;
  folder.write("text", std::string("\xFF") + "bcdefghij\n");
  const Dataset data = load("text", text_of(folder, 3, 0.3));
  CHECK(data.shape.tokens);
  CHECK(data.shape.classes == 256);
  CHECK(data.shape.features() == 3);
  CHECK(data.shape.labels() == 3);
  REQUIRE(data.train->size() == 2);
  REQUIRE(data.test->size() == 1);
  CHECK(features(*data.train, 0, 3) == std::vector<float>{255, 'b', 'c'});
  CHECK(labels(*data.train, 0, 3) == std::vector<std::int64_t>{'b', 'c', 'd'});
  CHECK(features(*data.train, 1, 3) == std::vector<float>{'d', 'e', 'f'});
  CHECK(features(*data.test, 0, 3) == std::vector<float>{'g', 'h', 'i'});
  CHECK(labels(*data.test, 0, 3) == std::vector<std::int64_t>{'h', 'i', 'j'});
}

TEST_CASE("Each byte but the first is predicted once, in training or in the test, if it fills") {
  for (const std::size_t size : {3, 4, 5, 64, 65, 1000, 1001})
    for (const std::int64_t sequence : {1, 2, 7, 32})
      for (const double share : {0.001, 0.1, 0.37, 0.5}) {
        INFO(size << " bytes, sequences of " << sequence << ", test " << share);
        const ScratchFolder folder;
        folder.write("text", letters(size));
        const auto options = text_of(folder, sequence, share);
        if (static_cast<std::int64_t>(size) < 2 * sequence + 1) {
          CHECK_THROWS_AS(load("text", options), UsageError);
          continue;
        }
        const Dataset data = load("text", options);
        const DataInfo info = dataset("text").inspect(options_of(dataset("text"), options));
        CHECK(info.train_size == data.train->size());
        CHECK(info.test_size == data.test->size());
        CHECK(data.test->size() >= 1);
        CHECK(data.train->size() >= data.test->size());
        std::multiset<std::int64_t> predicted, expected;
        for (const auto& split : {data.train, data.test})
          for (std::int64_t e = 0; e < split->size(); ++e)
            for (const std::int64_t token : labels(*split, e, sequence)) predicted.insert(token);
        const std::int64_t whole = (static_cast<std::int64_t>(size) - 1) / sequence * sequence;
        for (const char c : letters(size).substr(1, static_cast<std::size_t>(whole)))
          expected.insert(c);
        CHECK(predicted == expected);
      }
}

TEST_CASE("The test has ten blocks of neighbouring sequences, from all over the text") {
  const ScratchFolder folder;
  std::string numbers;  // sequence e is the byte e
  for (int e = 0; e <= 200; ++e) numbers += static_cast<char>(e);
  folder.write("text", numbers);
  const Dataset data = load("text", text_of(folder, 1, 0.2));
  REQUIRE(data.test->size() == 40);
  for (int block = 0; block < 10; ++block)
    for (int k = 0; k < 4; ++k)
      CHECK(features(*data.test, 4 * block + k, 1)[0] == static_cast<float>(20 * block + 16 + k));
}

TEST_CASE("A compressed text is the text that it holds") {
  const ScratchFolder folder;
  write_gzip(folder, "text", letters(500));
  const Dataset packed = load("text", text_of(folder, 16));
  folder.write("text", letters(500));
  const Dataset plain = load("text", text_of(folder, 16));
  CHECK(packed.train->size() == plain.train->size());
  CHECK(labels(*packed.train, 3, 16) == labels(*plain.train, 3, 16));
}

TEST_CASE("Tokens of every whole type are the same sequences, from npy and safetensors") {
  const ScratchFolder folder;
  const std::vector<std::uint8_t> plain{7, 0, 99, 3, 4, 5, 6, 8, 9};
  const auto check = [&](const std::string& file) {
    INFO(file);
    const Dataset data =
        load("tokens",
             {{"file", folder.path(file)}, {"sequence", 2}, {"vocabulary", 100}, {"test", 0.25}});
    CHECK(data.shape.classes == 100);
    REQUIRE(data.train->size() == 3);
    CHECK(features(*data.train, 0, 2) == std::vector<float>{7, 0});
    CHECK(labels(*data.train, 0, 2) == std::vector<std::int64_t>{0, 99});
    CHECK(labels(*data.test, 0, 2) == std::vector<std::int64_t>{8, 9});
    CHECK(data.files.size() == 1);
  };
  const auto as = [&](auto number, const char* descr) {
    const std::vector<decltype(number)> tokens(plain.begin(), plain.end());
    folder.write("a.npy", npy(descr, {9}, tokens));
    check("a.npy");
  };
  as(std::uint8_t{}, "|u1");
  as(std::uint16_t{}, "<u2");
  as(std::uint32_t{}, "<u4");
  as(std::int32_t{}, "<i4");
  as(std::int64_t{}, "<i8");
  as(std::uint64_t{}, "<u8");
  folder.write("a.safetensors",
               safetensors({{"tokens", TensorType::u8, {9}, {plain.begin(), plain.end()}}}));
  check("a.safetensors");
}

TEST_CASE("Tokens that are none are refused with file, place and remedy") {
  const ScratchFolder folder;
  const auto said = [&](const std::string& content, const char* name = "a.npy") {
    folder.write(name, content);
    const nlohmann::json given{
        {"file", folder.path(name)}, {"sequence", 2}, {"vocabulary", 100}, {"tensor", "tokens"}};
    const std::string planned =
        message_of([&] { dataset("tokens").inspect(options_of(dataset("tokens"), given)); });
    CHECK(planned == message_of([&] { load("tokens", given); }));
    CHECK_THAT(planned, ContainsSubstring(folder.path(name)));
    return planned;
  };
  CHECK_THAT(said(npy("<u2", {6}, std::vector<std::uint16_t>{1, 2, 3, 100, 5, 6})),
             ContainsSubstring("token 3 is 100") && ContainsSubstring("from 0 to 99") &&
                 ContainsSubstring("task.dataset.vocabulary"));
  CHECK_THAT(said(npy("<i8", {6}, std::vector<std::int64_t>{1, 2, 3, 4, 5, -1})),
             ContainsSubstring("token 5 is -1"));
  CHECK_THAT(said(npy("<u8", {6}, std::vector<std::uint64_t>{1, 2, 3, 4, 5, ~0ULL})),
             ContainsSubstring("token 5 is 18446744073709551615"));
  CHECK_THAT(said(npy("<f4", {6}, std::vector<float>(6))), ContainsSubstring("whole numbers") &&
                                                               ContainsSubstring("F32") &&
                                                               ContainsSubstring("astype"));
  CHECK_THAT(said(npy("<u2", {2, 3}, std::vector<std::uint16_t>(6))),
             ContainsSubstring("2 dimensions") && ContainsSubstring("reshape(-1)"));
  CHECK_THAT(said(npy("<u2", {4}, std::vector<std::uint16_t>(4))), ContainsSubstring("take 5"));
  CHECK_THAT(said(npy("<u2", {0}, std::vector<std::uint16_t>())), ContainsSubstring("take 5"));
  CHECK_THAT(said("no array"), ContainsSubstring("numpy.save"));
  CHECK_THAT(said(safetensors({{"text", TensorType::u8, {6}, "abcdef"}}), "a.safetensors"),
             ContainsSubstring("text"));
}

TEST_CASE("A text that is too short, or none, is refused with what to do") {
  const ScratchFolder folder;
  for (const std::size_t size : {0, 1, 15, 32}) {
    folder.write("text", letters(size));
    const std::string said = message_of(
        [&] { dataset("text").inspect(options_of(dataset("text"), text_of(folder, 16))); });
    CHECK_THAT(said, ContainsSubstring(folder.path("text")) && ContainsSubstring("take 33") &&
                         ContainsSubstring("task.dataset.sequence"));
  }
  CHECK_THAT(message_of([&] {
               load("text", {{"file", folder.path()}});
             }),
             ContainsSubstring(folder.path()) && ContainsSubstring("task.dataset.file"));
}

}  // namespace acid::testing
