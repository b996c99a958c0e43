#include "engine/data/labelled_arrays.hpp"

#include <limits>

#include "tests/data/arrays.hpp"

namespace acid::testing {
namespace {

template <class Number>
std::vector<Number> counting(std::size_t count) {
  std::vector<Number> numbers;
  for (std::size_t k = 0; k < count; ++k) numbers.push_back(static_cast<Number>(k));
  return numbers;
}

/// Four arrays of bytes: 4 and 2 images of two channels, two rows and three columns.
struct ArrayFolder : ScratchFolder {
  ArrayFolder() {
    write("train_inputs.npy", npy("|u1", {4, 2, 2, 3}, counting<std::uint8_t>(48)));
    write("train_labels.npy", npy<std::int64_t>("<i8", {4}, {0, 1, 2, 1}));
    write("test_inputs.npy", npy("|u1", {2, 2, 2, 3}, counting<std::uint8_t>(24)));
    write("test_labels.npy", npy<std::int64_t>("<i8", {2}, {2, 0}));
  }
  Dataset load(nlohmann::json given = nlohmann::json::object()) const {
    given["root"] = path();
    return testing::load("npy", given);
  }
  /// The planner checks everything that a run checks.
  std::string error(const std::string& file,
                    nlohmann::json given = nlohmann::json::object()) const {
    given["root"] = path();
    const nlohmann::json options = options_of(dataset("npy"), given);
    const std::string planned = message_of([&] { dataset("npy").inspect(options); });
    CHECK(planned == message_of([&] { dataset("npy").load(options); }));
    CHECK_THAT(planned, ContainsSubstring(path(file)));
    return planned;
  }
};

}  // namespace

TEST_CASE("arrays are images with channels first or last, bytes scaled and normalised by channel") {
  const ArrayFolder folder;
  const Dataset first = folder.load();
  CHECK(first.shape.channels == 2);
  CHECK(first.shape.height == 2);
  CHECK(first.shape.width == 3);
  CHECK(first.shape.classes == 3);
  CHECK(first.train->size() == 4);
  CHECK(first.train->label(2) == 2);
  CHECK(features(*first.train, 1, 12)[4] == Approx(16 / 255.0));
  REQUIRE(first.files.size() == 4);
  CHECK(first.files[1].path == folder.path("train_labels.npy"));
  CHECK(first.files[1].sha256.size() == 64);

  folder.write("train_inputs.npy", npy("|u1", {4, 2, 3, 2}, counting<std::uint8_t>(48)));
  folder.write("test_inputs.npy", npy("|u1", {2, 2, 3, 2}, counting<std::uint8_t>(24)));
  const Dataset last =
      folder.load({{"layout", "channels-last"}, {"mean", {0.5, 0.25}}, {"deviation", {2, 0.5}}});
  CHECK(last.shape.channels == 2);
  CHECK(last.shape.width == 3);
  const std::vector<float> image = features(*last.train, 1, 12);  // bytes 12 to 23
  CHECK(image[0] == Approx((12 / 255.0 - 0.5) / 2));
  CHECK(image[5] == Approx((22 / 255.0 - 0.5) / 2));
  CHECK(image[6] == Approx((13 / 255.0 - 0.25) / 0.5));
  CHECK(image[11] == Approx((23 / 255.0 - 0.25) / 0.5));
}

TEST_CASE("arrays of two dimensions are vectors, of three grey images, of any number") {
  const ArrayFolder folder;
  const auto are_bytes = [&] {
    const DatasetEntry& entry = dataset("npy");
    return entry.inspect(options_of(entry, {{"root", folder.path()}})).are_bytes;
  };
  CHECK(are_bytes());
  folder.write("train_inputs.npy", npy<float>("<f4", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 0.1f}));
  folder.write("test_inputs.npy", npy<double>("<f8", {2, 2}, {1, 2, 3, 0.1}));
  const Dataset vectors = folder.load({{"classes", 7}});
  CHECK(vectors.shape.classes == 7);
  CHECK_FALSE(are_bytes());
  CHECK(vectors.shape.width == 2);
  CHECK(features(*vectors.train, 3, 2) == std::vector<float>{7, 0.1f});
  CHECK(features(*vectors.test, 1, 2) == std::vector<float>{3, 0.1f});
  folder.write("train_inputs.npy", npy("<i2", {4, 2, 3}, counting<std::int16_t>(24)));
  folder.write("test_inputs.npy", npy("|u1", {2, 2, 3}, counting<std::uint8_t>(12)));
  const Dataset grey = folder.load();
  CHECK(grey.shape.height == 2);
  CHECK(features(*grey.train, 3, 6)[5] == 23);
}

TEST_CASE("numbers far from 0 keep their digits when a mean is subtracted") {
  const ArrayFolder folder;
  const std::vector<float> values{1000001, 1000002, 999999, 1000000, 1e6, 1e6, 1e6, 1e6};
  folder.write("train_inputs.npy", npy<float>("<f4", {4, 2}, values));
  folder.write("test_inputs.npy", npy<double>("<f8", {2, 2}, {1000004, 1e6, 1e6, 1e6}));
  const Dataset data = folder.load({{"mean", {1e6}}, {"deviation", {3}}});
  CHECK(features(*data.train, 0, 2) == std::vector<float>{1 / 3.0f, 2 / 3.0f});
  CHECK(features(*data.train, 1, 2) == std::vector<float>{-1 / 3.0f, 0});
  CHECK(features(*data.test, 0, 2) == std::vector<float>{4 / 3.0f, 0});
  for (const nlohmann::json& given : {nlohmann::json{{"mean", {1e39}}},
                                      {{"deviation", {1e-39}}},
                                      {{"mean", {1e30}}, {"deviation", {1e-20}}}})
    CHECK_THROWS_WITH(folder.load(given), ContainsSubstring("single precision"));
  folder.write("test_inputs.npy", npy<double>("<f8", {2, 2}, {1e39, 1, 1, 1}));
  CHECK_THAT(folder.error("test_inputs.npy"),
             ContainsSubstring("numbers that single precision holds, found 1e+39"));
}

TEST_CASE("the same arrays as tensors of one safetensors file or two are the same examples") {
  const ArrayFolder folder;
  const auto bytes = [](std::size_t count) {
    const auto numbers = counting<std::uint8_t>(count);
    return std::string(numbers.begin(), numbers.end());
  };
  const std::vector<NamedTensor> train{{"x", TensorType::u8, {4, 2, 2, 3}, bytes(48)},
                                       {"y", TensorType::u8, {4}, std::string("\0\1\2\1", 4)}};
  const std::vector<NamedTensor> test{{"test_inputs", TensorType::u8, {2, 2, 2, 3}, bytes(24)},
                                      {"test_labels", TensorType::u8, {2}, std::string("\2\0", 2)}};
  std::vector<NamedTensor> both = train;
  both.insert(both.end(), test.begin(), test.end());
  folder.write("one", safetensors(both));
  folder.write("train", safetensors(train));
  folder.write("test", safetensors(test));
  nlohmann::json given{{"path", folder.path("one")}, {"train_inputs", "x"}, {"train_labels", "y"}};
  const Dataset one = load("safetensors", given);
  given["path"] = folder.path("train");
  given["test_path"] = folder.path("test");
  const Dataset two = load("safetensors", given);
  CHECK(one.files.size() == 1);
  CHECK(two.files.size() == 2);
  const Dataset arrays = folder.load();
  for (const Dataset* data : {&one, &two})
    for (std::int64_t e = 0; e < 4; ++e) {
      CHECK(features(*data->train, e, 12) == features(*arrays.train, e, 12));
      CHECK(data->train->label(e) == arrays.train->label(e));
      if (e < 2) CHECK(features(*data->test, e, 12) == features(*arrays.test, e, 12));
    }
}

TEST_CASE("a column of labels is taken as it is, and booleans are 0 and 1") {
  const ArrayFolder folder;
  folder.write("train_labels.npy", npy<std::int64_t>("<i8", {4, 1}, {0, 1, 2, 1}));
  const auto bits = [](std::size_t count) {
    std::vector<std::uint8_t> values;
    for (std::size_t k = 0; k < count; ++k) values.push_back(k % 3 == 0);
    return values;
  };
  folder.write("train_inputs.npy", npy("|b1", {4, 2, 2, 3}, bits(48)));
  folder.write("test_inputs.npy", npy("|b1", {2, 2, 2, 3}, bits(24)));
  const Dataset data = folder.load();
  CHECK(data.train->label(2) == 2);
  CHECK(features(*data.train, 0, 12)[3] == 1);
  CHECK(features(*data.train, 0, 12)[4] == 0);
}

TEST_CASE("a plan says what arrays hold, and doubts what is most likely a mistake") {
  using Labels = std::vector<std::int64_t>;
  const ArrayFolder folder;
  const DatasetEntry& entry = dataset("npy");
  const auto looked_at = [&](nlohmann::json given = nlohmann::json::object()) {
    given["root"] = folder.path();
    return entry.inspect(options_of(entry, given));
  };
  const auto images = [&](const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> all{4}, some{2};
    all.insert(all.end(), shape.begin(), shape.end());
    some.insert(some.end(), shape.begin(), shape.end());
    std::vector<std::uint8_t> other = counting<std::uint8_t>(24);
    std::ranges::reverse(other);
    folder.write("train_inputs.npy", npy("|u1", all, counting<std::uint8_t>(48)));
    folder.write("test_inputs.npy", npy("|u1", some, other));
  };
  images({2, 2, 3});
  const DataInfo plain = looked_at({{"deviation", {1, 2}}});
  CHECK(plain.doubts.empty());
  REQUIRE(plain.splits.size() == 2);
  CHECK(plain.splits[0] ==
        "train: 4 examples of 2 × 2 × 3 (channels × height × width; U8, divided by 255, then "
        "normalised), from 0 to 0.161; 3 classes of 1, 2, 1; the first: label 0, from 0 to 0.0216 "
        "with mean 0.0132");
  const auto doubt = [&](const Labels& labels, nlohmann::json given = nlohmann::json::object()) {
    folder.write("train_labels.npy", npy("<i8", {4}, labels));
    folder.write("test_labels.npy", npy("<i8", {2}, Labels{labels[0], labels[0]}));
    const DataInfo info = looked_at(std::move(given));
    REQUIRE(info.doubts.size() == 1);
    return info.doubts[0].what.substr(info.doubts[0].what.find(": ") + 2) + " | " +
           info.doubts[0].remedy;
  };
  CHECK(doubt({1, 2, 3, 2}) ==
        "labels begin with 1, so that class 0 of 4 has no example | save labels - 1");
  CHECK_THAT(doubt({1, 1, 1, 1}), ContainsSubstring("all training labels are 1, so that nothing"));
  CHECK_THAT(
      doubt({0, 2, 7, 2}),
      ContainsSubstring("classes 1, 3, 4, 5 and 6 (of classes 0 to 7) have no training example"));
  CHECK_THAT(doubt({0, 1, 2, 2}, {{"classes", 4}}),
             ContainsSubstring("class 3 (of classes 0 to 3) has no training example"));
  images({6, 2, 1});
  const nlohmann::json last{{"layout", "channels-last"}};
  CHECK(doubt({0, 1, 2, 1}) ==
        "the shape (4, 6, 2, 1) is read as 6 channels of 2 × 1, and looks like 6 × 2 with 1 "
        "channels | set task.dataset.layout = \"channels-last\"");
  CHECK(looked_at(last).doubts.empty());
  images({1, 2, 6});
  CHECK(doubt({0, 1, 2, 1}, last) ==
        "the shape (4, 1, 2, 6) is read as 6 channels of 1 × 2, and looks like 2 × 6 with 1 "
        "channels | remove task.dataset.layout");
}

TEST_CASE("labels are whole numbers of any type, in a row of any shape") {
  const ArrayFolder folder;
  const std::vector<double> labels{0, 1, 2, 1};
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{4}, {4, 1}, {1, 4}, {4, 1, 1}}) {
    folder.write("train_labels.npy", npy("<f8", shape, labels));
    const Dataset data = folder.load();
    for (std::int64_t e = 0; e < 4; ++e)
      CHECK(data.train->label(e) == labels[static_cast<std::size_t>(e)]);
  }
  for (const double bad : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    folder.write("train_labels.npy", npy<double>("<f8", {4}, {0, bad, 0, 1}));
    CHECK_THAT(folder.error("train_labels.npy"), ContainsSubstring("for example 1"));
  }
}

TEST_CASE("a file of its own replaces the one in the folder, and what is missing is listed") {
  const ArrayFolder folder;
  folder.write("other.npy", npy<std::int64_t>("<i8", {2}, {1, 1}));
  CHECK(folder.load({{"test_labels", folder.path("other.npy")}}).test->label(0) == 1);
  std::filesystem::remove(folder.path("test_inputs.npy"));
  CHECK_THAT(folder.error("test_inputs.npy"), ContainsSubstring("missing"));
  const DatasetEntry& entry = dataset("npy");
  CHECK_THROWS_AS(entry.inspect(options_of(entry, {{"root", folder.path()}})), UsageError);
  CHECK_THAT(message_of([&] { entry.inspect(options_of(entry, nlohmann::json::object())); }),
             ContainsSubstring("task.dataset.root"));
}

TEST_CASE("inputs and labels that do not fit are refused with file, example and remedy") {
  using Labels = std::vector<std::int64_t>;
  const ArrayFolder folder;
  const auto error_with = [&](const std::string& file, const std::string& content) {
    const std::string before = folder.read(file);
    folder.write(file, content);
    const std::string message = folder.error(file);
    folder.write(file, before);
    return message;
  };
  CHECK_THAT(error_with("train_labels.npy", npy<std::int64_t>("<i8", {3}, {0, 1, 2})),
             ContainsSubstring("has examples, 4, found 3"));
  CHECK_THAT(error_with("train_labels.npy", npy("<i8", {4}, Labels{0, 1, -2, 0})),
             ContainsSubstring("found -2 for example 2"));
  CHECK_THAT(error_with("test_labels.npy", npy("<i8", {2}, Labels{0, 3})),
             ContainsSubstring("0 to 2, found 3 for example 1"));
  CHECK_THAT(error_with("train_labels.npy", npy<double>("<f8", {4}, {0, 1, 0.5, 2})),
             ContainsSubstring("found 0.5 for example 2") && ContainsSubstring("kind 'python'"));
  CHECK_THAT(error_with("train_labels.npy", npy("<i8", {2, 2}, Labels{0, 1, 1, 0})),
             ContainsSubstring("(2, 2)") && ContainsSubstring("argmax"));
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{48}, {4, 1, 2, 2, 3}})
    CHECK_THAT(error_with("train_inputs.npy", npy("|u1", shape, counting<std::uint8_t>(48))),
               ContainsSubstring("2, 3 or 4 dimensions"));
  CHECK_THAT(error_with("train_inputs.npy", npy<float>("<f4", {0, 2}, {})),
             ContainsSubstring("1 to 2147483647 examples"));
  CHECK_THAT(error_with("train_inputs.npy", npy<float>("<f4", {4, 0}, {})),
             ContainsSubstring("features"));
  CHECK_THAT(error_with("test_inputs.npy", npy("|u1", {2, 2, 3, 2}, counting<std::uint8_t>(24))),
             ContainsSubstring("(4, 2, 2, 3)") && ContainsSubstring("(2, 2, 3, 2)"));
  CHECK_THROWS_AS(folder.load({{"mean", {0.1}}}), UsageError);
  CHECK_THROWS_AS(folder.load({{"deviation", {1, 2, 3}}}), UsageError);
  CHECK_THAT(folder.error("train_labels.npy", {{"classes", 2}}),
             ContainsSubstring("found 2 for example 2") && ContainsSubstring("classes"));
}

TEST_CASE("inputs that are not finite are found, with their example") {
  const ArrayFolder folder;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           -std::numeric_limits<double>::infinity(), 1e300}) {
    folder.write("train_inputs.npy", npy<double>("<f8", {4, 2}, {1, 2, 3, 4, 5, bad, 7, 8}));
    folder.write("test_inputs.npy", npy<double>("<f8", {2, 2}, {1, 2, 3, 4}));
    CHECK_THAT(folder.error("train_inputs.npy"), ContainsSubstring("in example 2"));
  }
}

}  // namespace acid::testing
