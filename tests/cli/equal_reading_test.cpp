// Compares what --at and the verdict read between samples with the same runs sampled ten times as
// often.
#include <cmath>
#include <map>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

// With the slow worker, gradients, seconds and bytes are three different axes.
constexpr const char* kThreeClocks = R"(
seeds = [1, 2, 3]
algorithms = ["ar-sgd", "ad-psgd", "a2cid2"]
budget.gradients = 800
optimizer.learning_rate = 0.05
workers.count = 4
[task]
dataset = { kind = "gaussian-mixture", train = 800, test = 200 }
model = "linear"
batch_size = 8
[execution.virtual]
compute = { kind = "lognormal", sigma = 0.3 }
slow_workers = { 0 = 6.0 }
network = { latency_seconds = 1e-3, bandwidth_bytes_per_second = 1e6, gradient_seconds = 0.05 }
)";

class SparseAndDense {
 public:
  SparseAndDense() {
    run("sparse", "every_time = 8\nconsensus_every_time = 8");
    run("dense", "every_time = 0.5\nconsensus_every_time = 0.5");
  }
  Result compare(const std::string& name, std::vector<std::string> more) const {
    more.insert(more.begin(), {"compare", name});
    return folder_.call(more);
  }
  json document(const std::string& name, const std::string& at) const {
    const Result result = compare(name, {"--at", at, "--json"});
    INFO(at << result.err);
    REQUIRE(result.code == 0);
    return result.json();
  }
  const Folder& folder() const { return folder_; }

 private:
  void run(const std::string& name, const std::string& cadence) {
    folder_.write(name + ".toml",
                  "name = \"" + name + "\"\n" + kThreeClocks + "[evaluation]\n" + cadence + "\n");
    folder_.done({"run", name + ".toml"});
  }
  Folder folder_;
};

/// By seed; all runs of one algorithm in a store end with these digests.
json mean_digests(const Folder& folder, const std::string& experiment) {
  json digests;
  for (const json& run : folder.runs())
    if (run["experiment_name"] == experiment)
      digests[run["algorithm"].get<std::string>() + std::to_string(run["seed"].get<int>())] =
          folder.shown(run["id"])["digests"]["mean"];
  return digests;
}

void check_between_samples(const SparseAndDense& runs) {
  int compared = 0, between = 0, smooth = 0;
  double share = 0;  // of the resolution
  for (const char* at : {"gradients=500", "gradients=777", "epochs=4.3", "time=130", "seconds=12",
                         "seconds=9.5", "seconds=0.2min", "bytes=100kB", "bytes=0.15MB"}) {
    const json sparse = runs.document("sparse", at), dense = runs.document("dense", at);
    for (std::size_t g = 0; g < sparse["groups"].size(); ++g)
      for (const char* metric : {"eval_loss", "eval_accuracy", "train_loss_at_mean",
                                 "consensus_distance", "exchanges"}) {
        const json& group = sparse["groups"][g];
        if (!group["metrics"].contains(metric) || !dense["groups"][g]["metrics"].contains(metric))
          continue;
        const json& coarse = group["metrics"][metric];
        const json& fine = dense["groups"][g]["metrics"][metric];
        INFO(at << " " << group["label"] << " " << metric << "\n" << coarse << "\n" << fine);
        const double off = std::abs(coarse["mean"].get<double>() - fine["mean"].get<double>());
        const double resolution = coarse["resolution"];
        CHECK(off <= resolution + fine["resolution"].get<double>() + 1e-12);
        if (std::string(metric) == "eval_loss" && resolution > 0) {
          ++smooth;
          share += off / resolution;
        }
        CHECK(fine["samples_apart"].get<double>() <= coarse["samples_apart"].get<double>());
        ++compared;
        between += coarse["samples_apart"].get<double>() > 0;
      }
  }
  WARN(compared << " values compared, " << between << " of them between samples; eval_loss off by "
                << share / smooth << " of its resolution");
  CHECK(compared >= 80);
  CHECK(between >= 60);
  // Reading the sample before instead would be off by half a step between samples.
  CHECK(share / smooth < 0.2);
}

// A stale value is refused, alone where others can be read, and with exit code 2 where none can.
void check_stale_values(const SparseAndDense& runs) {
  // All-reduce waits for the slow worker, so its samples are further apart on the clock.
  const std::string at = "seconds=4.6";
  const json document = runs.document("sparse", at);
  const json& groups = document["groups"];
  CHECK_FALSE(groups[0]["metrics"].contains("eval_loss"));
  CHECK(groups[1]["metrics"]["eval_loss"]["n"] == 3);
  CHECK_THAT(document["notes"].dump(),
             ContainsSubstring("AR-SGD: 3 of 3 runs have no") && ContainsSubstring("apart (run "));
  CHECK(runs.document("dense", at)["groups"][0]["metrics"]["eval_loss"]["n"] == 3);
  for (const char* none : {"seconds=0.3", "seconds=1e6"}) {
    check_refused(runs.compare("sparse", {"--metric", "eval_loss", "--at", none}),
                  {"no run has a value at"});
  }
}

void check_verdict(const SparseAndDense& runs) {
  const json dense = runs.compare("dense", {"--json"}).json();
  // For two algorithms at equal gradients, time and bytes, and for the distance of A²CiD²'s workers
  // beside AD-PSGD's.
  std::map<std::string, std::size_t> claims;
  for (const json& one : dense["differences"]) {
    if (one["verdict"].is_null()) continue;
    const bool of_agreement = one["metric"] == "consensus_distance_mid";
    ++claims[of_agreement ? "agreement" : "outcome"];
    CHECK(one["family"] == (of_agreement ? 1 : 6));
  }
  CHECK(claims == std::map<std::string, std::size_t>{{"agreement", 1}, {"outcome", 6}});
  const std::string text = runs.compare("dense", {}).out;
  CHECK_THAT(text, ContainsSubstring("at equal gradients") &&
                       ContainsSubstring("At equal time (") &&
                       ContainsSubstring("At equal bytes ("));
  // "At equal time" equals --at with that many seconds.
  for (const json& place : dense["equal"]) {
    if (place["at_end"]) continue;
    const std::string axis = place["axis"], metric = place["metric"];
    const json there = runs.document("dense", axis + "=" + json(place["place"]).dump());
    const std::string outcome = metric.substr(0, metric.find("_at_equal_"));
    for (std::size_t g = 0; g < 3; ++g)
      CHECK(dense["groups"][g]["metrics"][metric]["mean"].get<double>() ==
            Approx(there["groups"][g]["metrics"][outcome]["mean"].get<double>()).epsilon(1e-6));
  }
  const json sparse = runs.compare("sparse", {"--json"}).json();
  CHECK_THAT(sparse["verdict"].dump(),
             ContainsSubstring("At equal time nothing is said of AR-SGD") &&
                 ContainsSubstring("evaluation.every_seconds = 1 would tell"));
  CHECK_FALSE(sparse["groups"][0]["metrics"].contains("eval_accuracy_at_equal_seconds"));
  const std::string page = runs.folder().call({"report", "dense", "-o", "-"}).out;
  CHECK_THAT(page, ContainsSubstring("At equal time (") && ContainsSubstring("At equal bytes ("));
  const json digests = mean_digests(runs.folder(), "sparse");
  CHECK(digests.size() == 9);
  CHECK(digests == mean_digests(runs.folder(), "dense"));
}

}  // namespace

TEST_CASE("between samples commands read what dense samples say, or refuse what they cannot tell",
          "[release]") {
  const SparseAndDense runs;
  check_between_samples(runs);
  check_stale_values(runs);
  check_verdict(runs);
}

}  // namespace acid::test
