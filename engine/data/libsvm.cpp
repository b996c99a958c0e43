#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/data/byte_file.hpp"
#include "engine/data/labelled_arrays.hpp"
#include "engine/data/sparse_rows.hpp"

namespace acid {
namespace {

constexpr const char* kLibsvmRemedy =
    "correct the line, or point task.dataset.path at a LIBSVM file";

class LibsvmReader {
 public:
  LibsvmReader(std::string path, std::string_view content)
      : path_(std::move(path)), rest_(content) {}

  SparseRows read() {
    rest_ = without_byte_order_mark(rest_);
    if (rest_.starts_with("\xFF\xFE") || rest_.starts_with("\xFE\xFF"))
      throw Error(fmt::format("{}: expected plain text, found UTF-16; save it as UTF-8", path_));
    while (!rest_.empty()) {
      line_text_ = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(rest_.size(), line_text_.size() + 1));
      ++line_number_;
      line_text_ = line_text_.substr(0, line_text_.find('#'));
      read_line();
    }
    return finish();
  }

 private:
  struct Entry {
    std::int32_t column;
    float value;
  };
  struct Example {
    double label;
    std::size_t entries_end;
  };
  struct FirstSeen {
    double label;
    int line;
  };

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(fmt::format("{}:{}: expected {}, found '{}'; {}", path_, line_number_, expected,
                            clip(found, 80), kLibsvmRemedy));
  }

  // Returns the next word of the line; empty at its end.
  std::string_view next_word() {
    constexpr const char* kBlanks = " \t\r";
    line_text_.remove_prefix(std::min(line_text_.size(), line_text_.find_first_not_of(kBlanks)));
    const std::string_view word = line_text_.substr(0, line_text_.find_first_of(kBlanks));
    line_text_.remove_prefix(word.size());
    return word;
  }

  template <typename Number>
  static std::optional<Number> parse(std::string_view text) {
    // from_chars takes no plus sign.
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) return std::nullopt;
    if constexpr (std::is_same_v<Number, float>)  // 1e-50 is rounded to a float, as elsewhere
      if (error == std::errc::result_out_of_range) return nearest(text);
    if (error != std::errc()) return std::nullopt;
    return value;
  }

  // Rounds a number that is too small or too large for a float: 0, a subnormal number or infinity.
  static float nearest(std::string_view text) {
    return std::strtof(std::string(text).c_str(), nullptr);
  }

  void read_line() {
    const std::string_view label_word = next_word();
    if (label_word.empty()) return;
    const auto label = parse<double>(label_word);
    if (!label) fail("a label (a number)", label_word);
    note_label(*label, label_word);
    std::int32_t previous = 0;
    while (true) {
      const std::string_view word = next_word();
      if (word.empty()) break;
      previous = read_entry(word, previous);
    }
    examples_.push_back({*label, entries_.size()});
  }

  std::int32_t read_entry(std::string_view word, std::int32_t previous) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) fail("index:value", word);
    if (word.starts_with("qid:")) fail("a data set of two classes, without queries", word);
    const auto index = parse<std::int32_t>(word.substr(0, colon));
    if (index == 0)
      fail("an index above 0 (they start at 1: save with zero_based=False in scikit-learn)", word);
    const bool is_too_long = !index && word.find_first_not_of("0123456789") == colon && colon > 0;
    if (is_too_long || index > kMostFeatures)
      fail(fmt::format("an index up to {}: every vector of a worker has as many numbers",
                       kMostFeatures),
           word);
    if (!index || *index <= previous)
      fail(fmt::format("an index above {} (they start at 1 and increase)", previous), word);
    const auto value = parse<float>(word.substr(colon + 1));
    if (!value || !std::isfinite(*value)) fail("a finite value after the colon", word);
    entries_.push_back({*index - 1, *value});
    columns_ = std::max(columns_, static_cast<std::int64_t>(*index));
    return *index;
  }

  void note_label(double label, std::string_view word) {
    for (const FirstSeen& known : labels_)
      if (known.label == label) return;
    if (label != -1 && label != 0 && label != 1 && label != 2)
      fail(
          "a label of two classes: -1 and +1, 0 and 1, or 1 and 2 (more are for arrays: kind = "
          "\"npy\")",
          word);
    if (labels_.size() == 2)
      fail(fmt::format("one of two labels, {:g} (line {}) or {:g} (line {})", labels_[0].label,
                       labels_[0].line, labels_[1].label, labels_[1].line),
           word);
    labels_.push_back({label, line_number_});
  }

  double larger_label() const {
    if (labels_.size() < 2)
      throw Error(fmt::format("{}: expected examples of two classes, found {} in {} lines; {}",
                              path_, labels_.size(), line_number_, kLibsvmRemedy));
    const auto [low, high] = std::minmax(labels_[0].label, labels_[1].label);
    if (high != (low < 0 ? 1 : low + 1))
      throw Error(
          fmt::format("{}:{}: expected labels -1 and +1, 0 and 1, or 1 and 2, found {:g} "
                      "and {:g}; {}",
                      path_, labels_[1].line, low, high, kLibsvmRemedy));
    return high;
  }

  SparseRows finish() const {
    const double positive = larger_label();
    if (columns_ == 0)
      throw Error(fmt::format("{}: expected features (index:value), found labels only; {}", path_,
                              kLibsvmRemedy));
    SparseRows rows(columns_);
    std::size_t next = 0;
    for (const Example& example : examples_) {
      for (; next < example.entries_end; ++next)
        rows.add_entry(entries_[next].column, entries_[next].value);
      rows.end_row(example.label == positive ? 1 : 0);
    }
    return rows;
  }

  std::string path_;
  std::string_view rest_;       // the text after the current line
  std::string_view line_text_;  // the unread part of the current line
  int line_number_ = 0;
  std::vector<FirstSeen> labels_;
  std::vector<Entry> entries_;
  std::vector<Example> examples_;
  std::int64_t columns_ = 0;
};

}  // namespace

void SparseRows::copy_features(std::int64_t example, std::span<float> out) const {
  ACID_ASSERT(std::ssize(out) == columns_, "{} features into {}", columns_, out.size());
  std::fill(out.begin(), out.end(), 0.0f);
  const Row entries = row(example);
  for (std::size_t k = 0; k < entries.values.size(); ++k)
    out[static_cast<std::size_t>(entries.columns[k])] = entries.values[k];
}

SparseRows read_libsvm(const std::string& path) {
  const std::string content =
      ByteFile(path, "download the file again, or point task.dataset.path elsewhere").read_rest();
  return LibsvmReader(path, content).read();
}

}  // namespace acid
