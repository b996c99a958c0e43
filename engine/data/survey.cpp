#include "engine/data/survey.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace acid {
namespace {

// "class 3", "classes 3, 7 and 8", "classes 3, 7, 8 and 5 more".
std::string named(const std::vector<std::size_t>& classes) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = classes.size() <= kShown + 1 ? classes.size() : kShown;
  std::string text = classes.size() == 1 ? "class " : "classes ";
  for (std::size_t k = 0; k < shown; ++k)
    text += fmt::format("{}{}", k == 0 ? "" : k + 1 == classes.size() ? " and " : ", ", classes[k]);
  if (shown < classes.size()) text += fmt::format(" and {} more", classes.size() - shown);
  return text;
}

std::vector<std::size_t> empty_of(const SplitFacts& facts) {
  std::vector<std::size_t> empty;
  for (std::size_t c = 0; c < facts.classes.size(); ++c)
    if (facts.classes[c] == 0) empty.push_back(c);
  return empty;
}

// "3 classes of 4, 2, 7", "26 classes of 5421 to 6742".
std::string words_of_classes(const SplitFacts& facts) {
  constexpr std::size_t kListed = 10;
  std::string text = fmt::format("{} classes", facts.classes.size());
  const auto [least, most] = std::ranges::minmax(facts.classes);
  if (least == most)
    text += fmt::format(" of {} each", least);
  else if (facts.classes.size() <= kListed)
    text += fmt::format(" of {}", fmt::join(facts.classes, ", "));
  else
    text += fmt::format(" of {} to {}", least, most);
  if (facts.labelled < facts.size) text += fmt::format(" in the {} looked at", facts.labelled);
  return text;
}

std::string line_of(const char* split, const SplitFacts& facts) {
  std::string text = fmt::format("{}: {} {} of {}", split, facts.size, facts.unit, facts.form);
  if (facts.looked_at > 0) text += fmt::format(", from {:.3g} to {:.3g}", facts.least, facts.most);
  if (facts.looked_at > 0 && facts.looked_at < facts.size)
    text += fmt::format(" in the {} looked at", facts.looked_at);
  if (!facts.classes.empty()) text += "; " + words_of_classes(facts);
  if (!facts.first.empty()) text += "; the first: " + facts.first;
  return text;
}

/// Collects probable mistakes in data.
class Doubts {
 public:
  Doubts(DataInfo& info, const SplitFacts& train, const SplitFacts& test)
      : info_(info), train_(train), test_(test) {}

  void look() {
    look_at_classes();
    for (const SplitFacts* split : {&train_, &test_}) look_at_inputs(*split);
    look_at_features();
    compare();
  }

 private:
  void add(const std::string& where, std::string what, std::string remedy) {
    info_.doubts.push_back({fmt::format("{}: {}", where, what), std::move(remedy)});
  }

  void look_at_classes() {
    const std::vector<std::size_t> empty = empty_of(train_);
    const std::size_t classes = train_.classes.size();
    const bool all_looked_at = train_.labelled == train_.size;
    if (classes > 0 && empty.size() + 1 == classes)
      return add(train_.labels,
                 fmt::format("all training labels{} are {}, so that nothing can be learnt",
                             all_looked_at ? "" : " looked at",
                             std::ranges::max_element(train_.classes) - train_.classes.begin()),
                 "give the labels of all classes");
    if (!all_looked_at) return;
    if (empty == std::vector<std::size_t>{0})
      add(train_.labels,
          fmt::format("labels begin with 1, so that class 0 of {} has no example", classes),
          "save labels - 1");
    else if (!empty.empty())
      add(train_.labels,
          fmt::format("{} (of classes 0 to {}) {} no training example", named(empty), classes - 1,
                      empty.size() == 1 ? "has" : "have"),
          "number the existing classes from 0, or correct the number of classes");
    look_at_test_classes();
  }

  // A small test set may lack a class by chance.
  void look_at_test_classes() {
    constexpr std::int64_t kEnoughOfEach = 10;
    if (test_.labelled < test_.size ||
        test_.size < kEnoughOfEach * static_cast<std::int64_t>(train_.classes.size()))
      return;
    std::vector<std::size_t> untested;
    for (std::size_t c = 0; c < train_.classes.size(); ++c)
      if (train_.classes[c] > 0 && (c >= test_.classes.size() || test_.classes[c] == 0))
        untested.push_back(c);
    if (!untested.empty() && !test_.classes.empty())
      add(test_.labels,
          fmt::format("{} (of classes 0 to {}) {} training examples and no test example",
                      named(untested), train_.classes.size() - 1,
                      untested.size() == 1 ? "has" : "have"),
          "take the test set from all classes, as from a shuffled list");
  }

  void look_at_inputs(const SplitFacts& split) {
    constexpr double kMostByte = 255;
    constexpr std::int64_t kFeaturesOfImages = 64;
    constexpr double kLargeInImages = 10;
    if (split.not_finite > 0)
      add(split.inputs,
          fmt::format("{} of {} {} looked at have numbers that are not finite", split.not_finite,
                      split.looked_at, split.unit),
          "remove or replace such inputs");
    if (split.looked_at < 2 || split.not_finite > 0) return;
    if (split.least == split.most)
      add(split.inputs, fmt::format("all inputs are {:.3g}", split.least),
          "look at what wrote them: nothing can be learnt from them");
    else if (alike(split))
      add(split.inputs, fmt::format("all {} looked at have the same inputs", split.unit),
          "look at what wrote them: nothing can be learnt from them");
    else if (2 * split.repeats > split.looked_at && tells_examples_apart(split))
      add(split.inputs,
          fmt::format("{} of {} {} looked at have the inputs of an earlier one", split.repeats,
                      split.looked_at, split.unit),
          "remove what is there twice, unless inputs repeat by their nature");
    const bool bytes = split.whole && split.least >= 0 && split.most > kMostByte / 2 &&
                       split.most <= kMostByte && split.features >= kFeaturesOfImages;
    const bool image = info_.shape.height > 1;
    if (info_.shape.tokens) return;
    const std::string range =
        fmt::format("inputs are from {:.3g} to {:.3g}", split.least, split.most);
    if (bytes)
      add(split.inputs, range + ", as unscaled bytes are",
          "divide them by 255, or save them as uint8, which acid divides; the recipe's mean and "
          "deviation are those of the divided values");
    else if (image && split.magnitude > kLargeInImages)
      add(split.inputs, range + ", which is much for images",
          "scale them to about 1, or give their mean and deviation in the recipe");
  }

  // Borders of images may be black in all of them.
  void look_at_features() {
    if (2 * train_.constant > train_.features && !alike(train_) &&
        train_.looked_at == train_.size && !info_.shape.tokens && info_.shape.height == 1)
      add(train_.inputs,
          fmt::format("{} of {} features are the same in all training {}", train_.constant,
                      train_.features, train_.unit),
          "leave them out, or look at what wrote them");
  }

  static bool alike(const SplitFacts& split) {
    return split.looked_at > 1 && split.repeats == split.looked_at - 1;
  }
  // Examples with few features may be equal by chance.
  static bool tells_examples_apart(const SplitFacts& split) { return split.features >= 8; }

  void compare() {
    constexpr double kFarApart = 10;
    constexpr std::int64_t kFew = 50;  // one of this many
    const auto differ = std::minmax(train_.magnitude, test_.magnitude);
    const bool comparable = train_.looked_at > 0 && test_.looked_at > 0 &&
                            train_.not_finite + test_.not_finite == 0 && !info_.shape.tokens;
    if (comparable && differ.second > kFarApart * differ.first)
      add(test_.inputs,
          fmt::format(
              "test inputs are from {:.3g} to {:.3g}, training inputs from {:.3g} to {:.3g}",
              test_.least, test_.most, train_.least, train_.most),
          "scale both alike");
    if (test_.trained == 0 || alike(test_)) return;
    const bool all = test_.trained == test_.looked_at;
    if (all || (tells_examples_apart(test_) && kFew * test_.trained > test_.looked_at))
      add(test_.inputs,
          fmt::format("{} of {} test {} looked at are among the training {}", test_.trained,
                      test_.looked_at, test_.unit, test_.unit),
          "keep them apart: such tests do not measure how well new examples are classified");
  }

  DataInfo& info_;
  const SplitFacts &train_, &test_;
};

std::string form_of(const DataShape& shape, const std::string& type) {
  if (shape.tokens) return fmt::format("{} tokens ({})", shape.width, type);
  if (shape.height == 1 && shape.channels == 1)
    return fmt::format("{} features ({})", shape.width, type);
  return fmt::format("{} × {} × {} (channels × height × width; {})", shape.channels, shape.height,
                     shape.width, type);
}

// What an example's values say together.
struct Values {
  float least = INFINITY, most = -INFINITY;
  double magnitude = 0;           // their sum
  std::uint64_t fingerprint = 0;  // FNV-1a over the bits, word by word, in lanes
};

// In lanes, since a chain of operations waits for each one before the next.
Values look_at(std::span<const float> values) {
  constexpr std::size_t kLanes = 8;
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  std::array<float, kLanes> least, most;
  std::array<double, kLanes> magnitude{};
  std::array<std::uint64_t, kLanes> hash;
  least.fill(INFINITY);
  most.fill(-INFINITY);
  hash.fill(kBasis);
  const auto add = [&](std::size_t lane, float value) {
    least[lane] = value < least[lane] ? value : least[lane];
    most[lane] = most[lane] < value ? value : most[lane];
    magnitude[lane] += std::abs(value);
    hash[lane] = (hash[lane] ^ std::bit_cast<std::uint32_t>(value)) * kPrime;
  };
  std::size_t k = 0;
  for (; k + kLanes <= values.size(); k += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[k + lane]);
  for (std::size_t lane = 0; k + lane < values.size(); ++lane) add(lane, values[k + lane]);
  Values all{std::ranges::min(least), std::ranges::max(most),
             std::reduce(magnitude.begin(), magnitude.end()), kBasis};
  for (const std::uint64_t lane : hash)
    all.fingerprint = (all.fingerprint ^ lane ^ lane >> 32) * kPrime;
  all.fingerprint ^= all.fingerprint >> 32;
  return all;
}

bool whole(float value) { return value == std::trunc(value); }

using Fingerprints = std::unordered_set<std::uint64_t>;

void look_at_classes(SplitFacts& facts, const Sample& sample, const DataShape& shape) {
  if (shape.tokens) return;
  facts.classes.resize(static_cast<std::size_t>(shape.classes));
  for (std::int64_t e = 0; e < facts.size; ++e)
    ++facts.classes[static_cast<std::size_t>(sample.split.label(e))];
  facts.labelled = facts.size;
}

std::string words_of_first(const Sample& sample, std::span<const float> values) {
  if (!sample.first.empty()) return sample.first;
  const auto [least, most] = std::ranges::minmax(values);
  double sum = 0;
  for (const float value : values) sum += value;
  return fmt::format("label {}, from {:.3g} to {:.3g} with mean {:.3g}", sample.split.label(0),
                     least, most, sum / static_cast<double>(values.size()));
}

Fingerprints look_at_inputs(SplitFacts& facts, const Sample& sample, std::int64_t step,
                            const Fingerprints& trained) {
  Fingerprints seen;
  const auto width = static_cast<std::size_t>(facts.features);
  std::vector<float> first(width), values(width);
  std::vector<char> changes(width);
  facts.least = INFINITY;
  facts.most = -INFINITY;
  facts.whole = true;
  for (std::int64_t e = 0; e < facts.size; e += step) {
    sample.split.copy_features(e, values);
    if (e == 0) {
      first = values;
      facts.first = words_of_first(sample, values);
    }
    for (std::size_t k = 0; k < width; ++k) changes[k] |= values[k] != first[k];
    const Values all = look_at(values);
    facts.least = std::min(facts.least, static_cast<double>(all.least));
    facts.most = std::max(facts.most, static_cast<double>(all.most));
    facts.magnitude += all.magnitude / static_cast<double>(width);
    facts.whole = facts.whole && std::ranges::all_of(values, whole);
    facts.not_finite += std::isfinite(all.magnitude) ? 0 : 1;  // floats do not overflow a double
    facts.repeats += seen.insert(all.fingerprint).second ? 0 : 1;
    facts.trained += trained.contains(all.fingerprint) ? 1 : 0;
    ++facts.looked_at;
  }
  facts.magnitude /= static_cast<double>(facts.looked_at);
  facts.constant = std::ranges::count(changes, 0);
  return seen;
}

}  // namespace

void tell(DataInfo& info, const SplitFacts& train, const SplitFacts& test) {
  info.splits = {line_of("train", train), line_of("test", test)};
  Doubts(info, train, test).look();
}

std::int64_t survey_step(std::int64_t train_size, std::int64_t test_size, std::int64_t features,
                         std::int64_t most) {
  const std::int64_t examples = most / features;
  return examples < 2 ? 0 : (train_size + test_size + examples - 1) / examples;
}

void survey(DataInfo& info, const Sample& train, const Sample& test, std::int64_t most) {
  const std::int64_t step =
      survey_step(train.split.size(), test.split.size(), info.shape.features(), most);
  Fingerprints trained;
  const auto facts_of = [&](const Sample& sample) {
    SplitFacts facts{.inputs = sample.inputs,
                     .labels = sample.labels,
                     .form = form_of(info.shape, sample.type),
                     .unit = info.shape.tokens ? "sequences" : "examples",
                     .size = sample.split.size(),
                     .features = info.shape.features()};
    look_at_classes(facts, sample, info.shape);
    Fingerprints seen;
    if (sample.trained) trained.clear();
    if (step > 0) seen = look_at_inputs(facts, sample, step, trained);
    trained.swap(seen);
    return facts;
  };
  const SplitFacts of_train = facts_of(train);
  tell(info, of_train, facts_of(test));
}

}  // namespace acid
