#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/data/survey.hpp"
#include "engine/python/model_process.hpp"

namespace acid {
namespace {

// The facts that the process found, if it looked at its data.
SplitFacts facts_told(const nlohmann::json& told, const std::string& split,
                      const std::string& file) {
  const nlohmann::json& found = told.at("survey").at(split);
  const std::string where = fmt::format("{}, the {} set", file, split);
  SplitFacts facts{.inputs = where, .labels = where, .size = told.at(split)};
  found.at("form").get_to(facts.form);
  found.at("first").get_to(facts.first);
  found.at("looked_at").get_to(facts.looked_at);
  found.at("features").get_to(facts.features);
  found.at("constant").get_to(facts.constant);
  found.at("least").get_to(facts.least);
  found.at("most").get_to(facts.most);
  found.at("magnitude").get_to(facts.magnitude);
  found.at("whole").get_to(facts.whole);
  found.at("not_finite").get_to(facts.not_finite);
  found.at("repeats").get_to(facts.repeats);
  found.at("trained").get_to(facts.trained);
  found.at("classes").get_to(facts.classes);
  found.at("labelled").get_to(facts.labelled);
  return facts;
}

DataInfo inspect_python(const nlohmann::json& options) {
  const nlohmann::json told = describe_dataset(options);
  DataInfo info;
  info.train_size = told.at("train");
  info.test_size = told.at("test");
  for (const auto& file : told.at("files")) info.files.push_back(file.at(0));
  if (told.contains("survey"))
    tell(info, facts_told(told, "train", text(options, "file")),
         facts_told(told, "test", text(options, "file")));
  return info;
}

Dataset load_python(const nlohmann::json& options) {
  throw UsageError(fmt::format(
      "the examples of {} are a Python process's own, and only a Python model sees them",
      text(options, "file")));
}

}  // namespace

/// The data of dataset() in the user's file. They stay in the processes that compute the gradients.
DatasetEntry dataset_python() {
  return {.name = "python",
          .summary = "what dataset() of a Python file gives, for a model of kind 'python'",
          .fields = kProcessFields,
          .inspect = inspect_python,
          .load = load_python,
          .in_process = true};
}

}  // namespace acid
