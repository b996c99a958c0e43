// `acid machines`, and `acid predict --calibrate`.
#include <csignal>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/scripted_worker.hpp"

using acid::test::Folder;

namespace {

constexpr const char* kFile = R"(date = "2026-11-27"
source = "made up"
[[gradients]]
mean_seconds = 0.5
[network]
latency_seconds = 0.001
)";

/// Machines of one's own are below its folder `data`.
struct Machines : Folder {
  Machines() {
    environment = {"XDG_DATA_HOME=" + path("data")};
    write("mine.toml", kFile);
  }
};

}  // namespace

TEST_CASE("machines lists those that come with acid, and the files that were imported") {
  const Machines folder;
  const auto before = folder.told({"machines"});
  CHECK(before["machines"].size() >= 2);
  for (const auto& machine : before["machines"]) {
    INFO(machine.dump());
    CHECK(machine["path"].is_null());
    CHECK_THAT(machine["source"].get<std::string>(), !ContainsSubstring("made up"));
    CHECK_THAT(folder.done({"machines"}).out,
               ContainsSubstring(machine["name"].get<std::string>()));
  }
  folder.done({"machines", "import", "mine.toml", "--name", "our-lab"});
  const auto shown = folder.told({"machines", "show", "our-lab"});
  CHECK(shown["gradients"][0]["mean_seconds"] == 0.5);
  CHECK_THAT(shown["path"].get<std::string>(),
             ContainsSubstring("data/acid/machines/our-lab.toml"));
  CHECK(folder.told({"machines"})["machines"].size() == before["machines"].size() + 1);
  folder.done({"machines", "export", "our-lab", "copy.toml"});
  CHECK(folder.read("copy.toml") == kFile);
  CHECK(folder.done({"machines", "export", "our-lab", "-"}).out == kFile);
}

TEST_CASE("a machine is not replaced unasked, and a name that two have is said") {
  const Machines folder;
  const std::string shipped = folder.told({"machines"})["machines"][0]["name"];
  folder.done({"machines", "import", "mine.toml"});
  check_refused(folder.call({"machines", "import", "mine.toml"}), {"--force"});
  folder.done({"machines", "import", "mine.toml", "--force"});
  check_refused(folder.call({"machines", "export", "mine"}), {"'mine.toml' exists", "--force"});
  folder.done({"machines", "import", "mine.toml", "--name", shipped});
  const auto list = folder.done({"machines"});
  CHECK_THAT(list.err, ContainsSubstring("another '" + shipped + "' comes before acid's own"));
  CHECK(folder.told({"machines", "show", shipped})["source"] == "made up");
}

TEST_CASE(
    "predict --calibrate measures workers and threads, keeps a machine and predicts with it") {
  const Machines folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const std::vector<std::string> calibrate{"predict",   "small.toml", "--calibrate", "here",
                                           "--seconds", "0.5",        "--json"};
  auto with_threads = calibrate;
  with_threads.insert(with_threads.end(), {"--set", "execution.threads_per_worker=2"});
  const auto calibrated = folder.done(with_threads);
  CHECK_THAT(calibrated.err, ContainsSubstring("gradients of 4 workers at once, with 2 threads") &&
                                 ContainsSubstring("of 0.5 s have passed"));
  const auto machine = folder.told({"machines", "show", "here"});
  CHECK(machine["model"]["parameters"] == 16);
  REQUIRE(machine["gradients"].size() == 6);  // of 1, 2 and 4 workers, with 1 and 2 threads
  for (const auto& entry : machine["gradients"]) {
    INFO(entry.dump());
    CHECK(entry["mean_seconds"] > 0);
    CHECK(entry["mean_seconds"] < 0.1);
  }
  CHECK(machine["cost"]["exchange_seconds"] > 0);
  CHECK(machine["cost"]["sample_seconds"] > 0);
  const auto predicted = nlohmann::json::parse(calibrated.out);
  for (const auto& one : predicted["predictions"])
    CHECK(one["iteration_seconds"]["mean"].get<double>() < 0.1);  // not the default, a second
  const auto again =
      folder.told({"predict", "small.toml", "--set", "execution.virtual.machine=here", "--set",
                   "execution.threads_per_worker=2"});
  CHECK(again["predictions"] == predicted["predictions"]);
}

TEST_CASE("a calibration that cannot be is refused before anything is measured") {
  const Machines folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto refuse = [&](const std::vector<std::string>& more,
                          const std::vector<std::string>& says) {
    std::vector<std::string> words{"predict", "small.toml"};
    words.insert(words.end(), more.begin(), more.end());
    check_refused(folder.call(words), says);
  };
  refuse({"--calibrate", "../x"}, {"no name of a machine"});
  refuse({"--seconds", "3"}, {"--calibrate"});
  refuse({"--calibrate", "x", "--set", "execution.virtual.gradient_clock=none", "--set",
          "budget={normalised_time=4}", "--set", "algorithms=[{kind=\"ad-psgd\"}]", "--set",
          "evaluation={}"},
         {"no gradients"});
  folder.done({"machines", "import", "mine.toml", "--name", "taken"});
  refuse({"--calibrate", "taken"}, {"--force"});
  std::filesystem::create_directory(folder.path("machines"));
  folder.write("machines/beside.toml", kFile);
  refuse({"--calibrate", "beside"}, {"machines/beside.toml comes before"});
}

TEST_CASE("a calibration that is interrupted, or whose worker dies, keeps nothing") {
  const auto calibrate = {"predict", "small.toml", "--calibrate", "gone"};
  const auto keeps_nothing = [](acid::test::ScriptedWorker& bench) {
    check_refused(bench.call({"machines", "show", "gone"}), {"no machine 'gone'"});
  };
  SECTION("interrupted") {
    acid::test::ScriptedWorker bench("touch there\nexec sleep 100\n");
    bench.environment.push_back("XDG_DATA_HOME=" + bench.path("data"));
    acid::test::Running running(bench, {calibrate.begin(), calibrate.end()});
    acid::test::wait_for(bench, "there");
    ::kill(running.pid(), SIGINT);
    check_refused(running.wait(), {"interrupted: nothing is kept"}, 130);
    keeps_nothing(bench);
  }
  for (const auto& [script, says] :
       {std::pair<std::string, std::string>{"kill -9 $$", "SIGKILL"},
        {"echo half; exit 1", "nothing is kept"},
        {"echo '{'", "printed no result"},
        {"echo '{\"gradients\": []}'", "both programs of one build"}}) {
    acid::test::ScriptedWorker bench(script + "\n");
    bench.environment.push_back("XDG_DATA_HOME=" + bench.path("data"));
    check_refused(bench.call({calibrate.begin(), calibrate.end()}), {says}, 1);
    keeps_nothing(bench);
  }
}

TEST_CASE("machines refuses files and names that are none, and names what was meant") {
  const Machines folder;
  folder.write("bad.toml", "date = \"2026\"\nsauce = \"x\"\n");
  check_refused(folder.call({"machines", "import", "bad.toml"}), {"bad.toml:2:1", "sauce"});
  check_refused(folder.call({"machines", "import", "none.toml"}), {"no such file"});
  check_refused(folder.call({"machines", "import", "mine.toml", "--name", "../x"}), {"no name"});
  folder.done({"machines", "import", "mine.toml"});
  check_refused(folder.call({"machines", "show", "mien"}), {"did you mean 'mine'?"});
  check_refused(folder.call({"machines", "sohw"}), {"machines"});
  check_refused(folder.call({"machines", "show"}), {"MACHINE is required"});
  // A broken one among them hides no other.
  std::filesystem::create_directory(folder.path("machines"));
  folder.write("machines/broken.toml", "date = 1\n");
  const auto list = folder.call({"machines"});
  CHECK(list.code == 2);
  CHECK_THAT(list.out, ContainsSubstring("mine"));
  CHECK_THAT(list.err, ContainsSubstring("broken.toml:1:8"));
}
