#include "exports/points.hpp"

#include <limits>

#include "store/measurements.hpp"
#include "store/tags.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;
using nlohmann::json;

constexpr double kPointNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPointInfinity = std::numeric_limits<double>::infinity();

void no_progress(std::size_t) {}

/// The output of a writer.
template <class Writer, class... Arguments>
std::string written(const Writer& writer, const Arguments&... arguments) {
  std::string text;
  writer(
      arguments..., [&](std::string_view piece) { text += piece; }, no_progress);
  return text;
}

/// Two runs that measure different things at different moments.
struct TwoRuns {
  ScratchFolder folder;
  RunRecord first = make_run(1), second = make_run(2, "ar-sgd");
  Store store;
  std::vector<std::string> ids{first.id, second.id};

  TwoRuns() : store(made()) {
    record(first.id, {{{4, 1, 0.5, 10}, {{"eval_loss", kWholeRun, 0.25}, {"idle_share", 2, 1}}},
                      {{8, 2, 1, 20}, {{"eval_loss", kWholeRun, kPointNaN}}},
                      {{8, 2, 1, 20}, {{"train_loss", kWholeRun, 0.1}}}});
    record(second.id, {{{6, 1.5, 0.75, 0}, {{"gradient_norm", kWholeRun, kPointInfinity}}}});
  }

 private:
  Store made() {
    first.label = "with \"quotes\", and\nlines";
    return make_store(folder.store(), {first, second});
  }
  void record(const std::string& run,
              const std::vector<std::pair<Position, std::vector<Value>>>& samples) {
    const std::int64_t attempt = begin(store, run);
    RunWriter writer(store.folder(), run, attempt);
    for (const auto& [at, values] : samples) writer.sample(at, values);
    writer.flush();
    store.end_attempt(attempt, ended_as(RunState::finished));
  }
};

TEST_CASE("the long CSV has a row per value, by metric, worker and position") {
  const TwoRuns runs;
  CHECK(written(write_long_csv, runs.store, runs.ids) ==
        "run,metric,worker,gradients,normalised_time,seconds,bytes,value\n" + runs.first.id +
            ",eval_loss,,4,1,0.5,10,0.25\n" + runs.first.id + ",eval_loss,,8,2,1,20,nan\n" +
            runs.first.id + ",idle_share,2,4,1,0.5,10,1\n" + runs.first.id +
            ",train_loss,,8,2,1,20,0.1\n" + runs.second.id + ",gradient_norm,,6,1.5,0.75,0,inf\n");
}

TEST_CASE("the wide CSV has a row per moment and a column per metric of any of the runs") {
  const TwoRuns runs;
  std::string text;
  const std::size_t left_out = write_wide_csv(
      runs.store, runs.ids, [&](std::string_view piece) { text += piece; }, no_progress);
  CHECK(left_out == 1);
  const std::string head = runs.first.id + ",ad-psgd,\"with \"\"quotes\"\", and\nlines\",1,,";
  CHECK(text ==
        "run,algorithm,label,seed,tags,gradients,normalised_time,seconds,bytes,eval_loss,"
        "gradient_norm,train_loss\n" +
            head + "4,1,0.5,10,0.25,,\n" + head + "8,2,1,20,nan,,\n" + head + "8,2,1,20,,,0.1\n" +
            runs.second.id + ",ar-sgd,ar-sgd,2,,6,1.5,0.75,0,,inf,\n");
}

TEST_CASE("the wide forms have a column for every setting that differs, and for no other") {
  const ScratchFolder folder;
  RunRecord first = make_run(1), second = make_run(2, "ar-sgd");
  first.settings.update({{"optimizer", {{"learning_rate", 0.1}, {"momentum", 0.9}}},
                         {"task", {{"partition", {{"kind", "a, \"b\""}}}}}});
  second.settings.update({{"optimizer", {{"learning_rate", 1e-7}, {"momentum", 0.9}}},
                          {"task", {{"partition", {{"kind", "iid"}, {"sizes", {1, 2}}}}}}});
  Store store = make_store(folder.store(), {first, second});
  for (const RunRecord* run : {&first, &second}) {
    const std::int64_t attempt = begin(store, run->id);
    RunWriter writer(store.folder(), run->id, attempt);
    const std::vector<Value> values{{"eval_loss", kWholeRun, 0.25}};
    writer.sample({4, 1, 0.5, 10}, values);
    writer.flush();
    store.end_attempt(attempt, ended_as(RunState::finished));
  }
  const std::vector<std::string> ids{first.id, second.id};
  CHECK(written(write_wide_csv, store, ids) ==
        "run,algorithm,label,seed,tags,optimizer.learning_rate,task.partition.kind,"
        "task.partition.sizes,gradients,normalised_time,seconds,bytes,eval_loss\n" +
            first.id + ",ad-psgd,ad-psgd,1,,0.1,\"a, \"\"b\"\"\",,4,1,0.5,10,0.25\n" + second.id +
            ",ar-sgd,ar-sgd,2,,1e-07,iid,\"[1,2]\",4,1,0.5,10,0.25\n");
  std::istringstream lines(written(write_wide_jsonl, store, ids));
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line)["optimizer.learning_rate"] == 0.1);
  CHECK(json::parse(line)["task.partition.sizes"].is_null());
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line)["task.partition.sizes"] == json{1, 2});
  CHECK_FALSE(json::parse(line).contains("optimizer.momentum"));
  CHECK(written(write_wide_csv, store, std::vector{first.id})
            .starts_with("run,algorithm,label,seed,tags,gradients,"));
}

TEST_CASE("the wide forms have the tags of runs and of the experiments that ask for them") {
  TwoRuns runs;
  change_tags(runs.store, {{runs.first.id}, {}}, {{"odd", "final"}, {}, {}});
  change_tags(runs.store, {{}, {make_experiment("test").id}}, {{"final", "paper"}, {}, {}});
  const std::string text = written(write_wide_csv, runs.store, runs.ids);
  CHECK_THAT(text, ContainsSubstring("lines\",1,final odd paper,4,1,"));
  CHECK_THAT(text, ContainsSubstring(",ar-sgd,ar-sgd,2,final paper,6,"));
  std::istringstream lines(written(write_wide_jsonl, runs.store, runs.ids));
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(json::parse(line)["tags"] == json{"final", "odd", "paper"});
}

TEST_CASE("lines of JSON hold what the CSV holds") {
  const TwoRuns runs;
  std::vector<json> lines;
  std::istringstream text(written(write_long_jsonl, runs.store, runs.ids));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == json{{"run", runs.first.id},
                         {"metric", "eval_loss"},
                         {"worker", nullptr},
                         {"gradients", 4},
                         {"normalised_time", 1.0},
                         {"seconds", 0.5},
                         {"bytes", 10},
                         {"value", 0.25}});
  CHECK(lines[1]["value"] == "nan");
  CHECK(lines[2]["worker"] == 2);
  CHECK(lines[4]["value"] == "inf");

  std::istringstream wide(written(write_wide_jsonl, runs.store, runs.ids));
  lines.clear();
  for (std::string line; std::getline(wide, line);) lines.push_back(json::parse(line));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["label"] == runs.first.label);
  CHECK(lines[0]["eval_loss"] == 0.25);
  CHECK_FALSE(lines[0].contains("train_loss"));
  CHECK_FALSE(lines[0].contains("idle_share"));
  CHECK(lines[3]["seed"] == 2);
}

TEST_CASE("superseded values are in no export, and moments come in order over attempts") {
  Story story;
  story.begin_and_go_on();
  const std::string& run = story.run.id;
  const auto names = series_names(story.store, run);
  REQUIRE_FALSE(names.empty());
  std::vector<std::vector<SeriesPoint>> by_moment(names.size());
  std::int64_t last = -1;
  for_each_measurement(story.store, run, names, [&](const Measurement& moment) {
    CHECK(moment.position.gradients >= last);
    last = moment.position.gradients;
    for (const auto& [series, value] : moment.values)
      by_moment[series].push_back({moment.position, value});
  });
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const Series& series : read_series(story.store, run, names[i].metric)) {
      if (series.worker != names[i].worker) continue;
      REQUIRE(series.points.size() == by_moment[i].size());
      for (std::size_t k = 0; k < series.points.size(); ++k) {
        CHECK(series.points[k].position.gradients == by_moment[i][k].position.gradients);
        const double a = series.points[k].value, b = by_moment[i][k].value;
        CHECK((a == b || (a != a && b != b)));
      }
    }
}

}  // namespace
}  // namespace acid
