#include "engine/data/survey.hpp"

#include <limits>

#include "tests/data/arrays.hpp"
#include "tests/data/images.hpp"

namespace acid::testing {
namespace {

struct Rows final : Split {
  std::vector<std::vector<float>> inputs;
  std::vector<int> labels;

  std::int64_t size() const override { return std::ssize(inputs); }
  int label(std::int64_t e) const override { return labels[static_cast<std::size_t>(e)]; }
  void copy_features(std::int64_t e, std::span<float> out) const override {
    std::ranges::copy(inputs[static_cast<std::size_t>(e)], out.begin());
  }
};

/// Examples of two classes with `width` features that raise no doubts.
Rows rows(int count, int width, unsigned seed = 1) {
  Rows out;
  for (int e = 0; e < count; ++e) {
    const Pixels bytes = pattern(1, width, 1, seed + static_cast<unsigned>(e));
    out.inputs.emplace_back();
    for (const std::uint8_t byte : bytes) out.inputs.back().push_back(byte / 256.0F);
    out.labels.push_back(e % 2);
  }
  return out;
}

DataInfo look(const Rows& train, const Rows& test, const DataShape& shape,
              std::int64_t most = kMostSurveyed) {
  DataInfo info{shape, std::ssize(train.labels), std::ssize(test.labels), {}};
  survey(info, {train, "F32", "a"}, {test, "F32", "b"}, most);
  return info;
}

std::vector<std::string> doubts_of(const DataInfo& info) {
  std::vector<std::string> doubts;
  for (const DataInfo::Doubt& doubt : info.doubts) doubts.push_back(doubt.what);
  return doubts;
}
using Doubts = std::vector<std::string>;

constexpr DataShape kVectors{1, 1, 64, 2};

}  // namespace

TEST_CASE("a survey says what was read, and of data without a flaw nothing else") {
  const DataInfo info = look(rows(40, 64), rows(20, 64, 1000), kVectors);
  CHECK(info.doubts.empty());
  REQUIRE(info.splits.size() == 2);
  CHECK(info.splits[1].starts_with("test: 20 examples of 64 features (F32), from 0 to 0.99"));
  CHECK_THAT(info.splits[1], ContainsSubstring("; 2 classes of 10 each; the first: label 0, from"));
  const DataInfo images = look(rows(4, 64), rows(4, 64, 1000), {2, 8, 4, 12});
  CHECK_THAT(images.splits[0], ContainsSubstring("2 × 8 × 4 (channels × height × width; F32)") &&
                                   ContainsSubstring("12 classes of 0 to 2"));
}

TEST_CASE("inputs that teach nothing are doubted") {
  const Rows test = rows(20, 64, 1000);
  Rows train = rows(20, 64);
  for (auto& input : train.inputs) input = train.inputs[0];
  CHECK(doubts_of(look(train, test, kVectors)) ==
        Doubts{"a: all examples looked at have the same inputs"});
  for (std::size_t e = 0; e < 5; ++e) train.inputs[e] = test.inputs[e];
  train.inputs[4][0] = 0.75F;
  CHECK(doubts_of(look(train, rows(20, 64, 2000), kVectors)) ==
        Doubts{"a: 14 of 20 examples looked at have the inputs of an earlier one"});
  for (auto& input : train.inputs) std::ranges::fill(input, 2.0F);
  CHECK(doubts_of(look(train, train, kVectors)) ==
        Doubts{"a: all inputs are 2", "b: all inputs are 2"});
  train = rows(20, 64);
  for (auto& input : train.inputs) std::ranges::fill(std::span(input).first(33), 1.0F);
  CHECK(doubts_of(look(train, test, kVectors)) ==
        Doubts{"a: 33 of 64 features are the same in all training examples"});
  CHECK(look(train, test, {1, 8, 8, 2}).doubts.empty());       // images have borders
  CHECK(look(train, test, kVectors, 64 * 20).doubts.empty());  // others may change it
  train = rows(20, 64);
  train.inputs[3][2] = std::numeric_limits<float>::infinity();
  CHECK(doubts_of(look(train, test, kVectors)) ==
        Doubts{"a: 1 of 20 examples looked at have numbers that are not finite"});
}

TEST_CASE("tests that are training examples or on another scale are doubted") {
  const Rows train = rows(60, 64);
  CHECK(doubts_of(look(train, train, kVectors)) ==
        Doubts{"b: 60 of 60 test examples looked at are among the training examples"});
  // Equal sets are also found when only a few examples are looked at.
  CHECK(doubts_of(look(train, train, kVectors, 64 * 12)) ==
        Doubts{"b: 6 of 6 test examples looked at are among the training examples"});
  Rows test = rows(100, 64, 1000);
  test.inputs[4] = train.inputs[50];
  test.inputs[5] = train.inputs[51];
  CHECK(look(train, test, kVectors).doubts.empty());
  test.inputs[6] = train.inputs[52];
  CHECK(doubts_of(look(train, test, kVectors)) ==
        Doubts{"b: 3 of 100 test examples looked at are among the training examples"});
  Rows few = rows(20, 2), other = rows(20, 2, 1000);
  other.inputs[0] = other.inputs[1] = other.inputs[2] = few.inputs[2];  // by chance
  CHECK(look(few, other, {1, 1, 2, 2}).doubts.empty());
  test = rows(20, 64, 1000);
  for (auto& input : test.inputs)
    for (float& value : input) value = std::round(value * 256);
  const Doubts found = doubts_of(look(train, test, kVectors));
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], ContainsSubstring("b: inputs are from 0 to 25") &&
                           ContainsSubstring("as unscaled bytes are"));
  CHECK_THAT(found[1], ContainsSubstring("b: test inputs are from 0 to 25") &&
                           ContainsSubstring("training inputs from 0"));
}

TEST_CASE("images that are far from normalised are doubted") {
  Rows train = rows(20, 64), test = rows(20, 64, 1000);
  for (Rows* part : {&train, &test})
    for (auto& input : part->inputs)
      for (float& value : input) value = (255 * value - 0.5F) / 0.25F;
  const Doubts found = doubts_of(look(train, test, {1, 8, 8, 2}));
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], ContainsSubstring("a: inputs are from -2 to 1"));
  CHECK(look(train, test, kVectors).doubts.empty());  // vectors may have any size
}

TEST_CASE("classes that tests lack are doubted where they are enough to have them") {
  const Rows train = rows(40, 64);
  Rows test = rows(20, 64, 1000);
  std::ranges::fill(test.labels, 1);
  CHECK(doubts_of(look(train, test, kVectors)) ==
        Doubts{"b: class 0 (of classes 0 to 1) has training examples and no test example"});
  test = rows(5, 64, 1000);
  std::ranges::fill(test.labels, 1);
  CHECK(look(train, test, kVectors).doubts.empty());
}

TEST_CASE("an example that is too large is not looked at") {
  CHECK(survey_step(10, 10, kMostSurveyed) == 0);
  CHECK(survey_step(10, 10, 100) == 1);
  CHECK(survey_step(1 << 20, 0, 1 << 10) == 32);
  const DataInfo info = look(rows(4, 64), rows(4, 64), kVectors, 100);
  CHECK(info.doubts.empty());
  CHECK(info.splits[0] == "train: 4 examples of 64 features (F32); 2 classes of 2 each");
}

TEST_CASE("texts, tokens, LIBSVM files and folders of images are surveyed alike") {
  const ScratchFolder folder;
  const auto told = [&](const std::string& name, nlohmann::json given) {
    const DatasetEntry& entry = dataset(name);
    return entry.inspect(options_of(entry, given));
  };
  folder.write("t", "to be\n\xE9");
  const nlohmann::json text{{"file", folder.path("t")}, {"sequence", 2}};
  CHECK(told("text", text).splits ==
        std::vector<std::string>{
            "train: 2 sequences of 2 tokens (bytes), from 32 to 116; the first: \"to\"",
            "test: 1 sequences of 2 tokens (bytes), from 10 to 101; the first: \"e\\n\""});
  folder.write("t", std::string(100, 'a'));
  CHECK(doubts_of(told("text", text)) ==
        Doubts{folder.path("t") + ": all inputs are 97", folder.path("t") + ": all inputs are 97"});
  folder.write("t.npy", npy<std::uint16_t>("<u2", {7}, {5, 1, 4, 2, 3, 6, 8}));
  CHECK(told("tokens", {{"file", folder.path("t.npy")}, {"vocabulary", 9}, {"sequence", 3}})
            .splits[0] == "train: 1 sequences of 3 tokens (U16), from 1 to 5; the first: 5 1 4 …");
  folder.write("svm", "+1 1:1 2:2\n-1 1:3\n+1 2:4\n-1 1:5 2:1\n");
  const AnalyticEntry& logistic = *find_analytic("logistic");
  const auto svm = [&](double share) {
    return logistic.inspect(
        with_fallbacks(logistic.fields, {{"path", folder.path("svm")}, {"test_fraction", share}}));
  };
  CHECK(svm(0).doubts.empty());  // the recipe makes all examples the tests
  CHECK(svm(0).splits[0] ==
        "train: 4 examples of 2 features (LIBSVM), from 0 to 5; 2 classes of 2 each; the first: "
        "label 1, from 1 to 2 with mean 1.5");
  for (const std::string name : {"train/a", "train/b", "test/a", "test/b"}) {
    std::filesystem::create_directories(folder.path("images/" + name));
    for (int k = 0; k < 90; ++k)
      folder.write(fmt::format("images/{}/{}.png", name, k), png(2, 3, pattern(2, 3, 3)));
  }
  const DataInfo images =
      told("image-folder", {{"root", folder.path("images")}, {"height", 2}, {"width", 3}});
  CHECK_THAT(
      images.splits[0],
      ContainsSubstring("train: 180 examples of 3 × 2 × 3 (channels × height × width; U8, "
                        "divided by 255), from ") &&
          ContainsSubstring(" in the 60 looked at; 2 classes of 90 each; the first: label 0"));
  CHECK_THAT(doubts_of(images)[0],
             ContainsSubstring("all examples looked at have the same inputs"));
}

TEST_CASE("images of large numbers that are no bytes are not taken for bytes") {
  Rows train = rows(20, 64);
  for (auto& input : train.inputs)
    for (float& value : input) value = 4000 * value - 1000;
  const Doubts found = doubts_of(look(train, train, {1, 8, 8, 2}));
  REQUIRE_FALSE(found.empty());
  CHECK_THAT(found[0], ContainsSubstring("which is much for images"));
}

TEST_CASE("a text that begins as bzip2 does is a text") {
  const ScratchFolder folder;
  folder.write("f", "BZh9 is how this text begins, and it goes on for a while after that. " +
                        std::string(400, 'x'));
  CHECK_NOTHROW(load("text", {{"file", folder.path("f")}, {"sequence", 4}}));
}

TEST_CASE("compressed content that is not read is told how to unpack") {
  const ScratchFolder folder;
  for (const auto& [begin, command] :
       {std::pair<std::string, std::string>{"BZh91AY&SY", "bzip2 -dk"},
        {std::string("\xFD"
                     "7zXZ\0",
                     6),
         "xz -dk"},
        {"\x28\xB5\x2F\xFD", "zstd -d"},
        {std::string("PK\3\4", 4), "unzip"}}) {
    folder.write("f", begin + std::string(400, 'x'));
    const std::string path = folder.path("f");
    const auto remedy = ContainsSubstring(fmt::format("unpack it with '{} {}'", command, path));
    CHECK_THAT(message_of([&] { load("text", {{"file", path}, {"sequence", 4}}); }), remedy);
    CHECK_THAT(message_of([&] {
                 const AnalyticEntry& entry = *find_analytic("logistic");
                 entry.inspect(with_fallbacks(entry.fields, {{"path", path}}));
               }),
               remedy);
    folder.write("f.safetensors", folder.read("f"));
    CHECK_THAT(message_of([&] {
                 load("tokens", {{"file", path + ".safetensors"}, {"vocabulary", 9}});
               }),
               ContainsSubstring(command + " " + path));
    const std::string npy = message_of([&] {
      load("tokens", {{"file", path}, {"vocabulary", 9}});
    });
    CHECK_THAT(npy, command == "unzip" ? ContainsSubstring("save each of its arrays") : remedy);
  }
}

}  // namespace acid::testing
