#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/codecs/codec.hpp"
#include "engine/language/listing_check.hpp"

namespace acid {
namespace {

using nlohmann::json;

class CodecReader {
 public:
  CodecReader(json given, std::vector<Finding>& findings)
      : given_(std::move(given)), findings_(findings) {
    if (given_.is_string()) given_ = {{"kind", given_}};
  }

  json read() {
    const json kind = given_.is_object() ? given_.value("kind", json()) : json();
    const auto entry = std::ranges::find_if(
        codec_catalog(), [&](const CodecEntry& one) { return kind == one.name; });
    if (entry == codec_catalog().end()) {
      report("codec", "a codec is { kind = …, … }",
             fmt::format("known: {}", one_of(names_of(codec_catalog()))));
      return {};
    }
    if (kind == "none") return {};
    json codec{{"kind", kind}};
    for (const std::span<const Field> fields : {entry->fields, codec_fields()})
      for (const Field& field : fields) read_key(field, codec);
    for (const auto& [key, value] : given_.items())
      if (!codec.contains(key))
        report(fmt::format("codec.{}", key),
               fmt::format("the codec {} has no key '{}'", kind.get<std::string>(), key));
    return codec;
  }

 private:
  void report(const std::string& path, std::string message, std::string remedy = {}) {
    findings_.push_back({path, 0, std::move(message), std::move(remedy)});
  }

  void read_key(const Field& field, json& codec) {
    const std::string name(field.name), path = fmt::format("codec.{}", name);
    if (!given_.contains(name)) {
      if (field.fallback.empty()) return report("codec", fmt::format("{} is required", path));
      codec[name] = json::parse(field.fallback);
      return;
    }
    codec[name] = given_[name];
    const bool is_flag = field.type == FieldType::boolean;
    if (is_flag ? !given_[name].is_boolean() : !given_[name].is_number())
      return report(path, fmt::format("{} is {}", path, is_flag ? "true or false" : "a number"));
    if (is_flag) return;
    const double value = given_[name].get<double>();
    if (value < field.minimum || value > field.maximum ||
        (field.minimum_excluded && value == field.minimum))
      report(path, fmt::format("{} is {}, and must be {} {} and at most {}", path, value,
                               field.minimum_excluded ? "above" : "at least", field.minimum,
                               field.maximum));
    if (field.type == FieldType::number) codec[name] = value;
  }

  json given_;
  std::vector<Finding>& findings_;
};

}  // namespace

json listed_codec(const json& given, std::vector<Finding>& findings) {
  return CodecReader(given, findings).read();
}

}  // namespace acid
