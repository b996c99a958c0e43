// `acid machines`.
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

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
    "a calibration measures gradients by workers at once, and recipes simulate what it kept") {
  const Machines folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto calibrated =
      folder.done({"machines", "calibrate", "here", "small.toml", "--seconds", "0.3"});
  CHECK_THAT(calibrated.err, ContainsSubstring("gradients of 4 workers") &&
                                 ContainsSubstring("machine = \"here\""));
  const auto machine = folder.told({"machines", "show", "here"});
  CHECK(machine["model"]["parameters"] == 16);
  REQUIRE(machine["gradients"].size() == 3);
  for (const auto& entry : machine["gradients"]) {
    INFO(entry.dump());
    CHECK(entry["mean_seconds"] > 0);
    CHECK(entry["mean_seconds"] < 0.1);
    CHECK(entry["threads"] == 1);
  }
  CHECK(machine["cost"]["exchange_seconds"] > 0);
  CHECK(machine["cost"]["sample_seconds"] > 0);
  const auto planned =
      folder.told({"plan", "small.toml", "--set", "execution.virtual.machine=here"});
  for (const auto& run : planned["runs"]) {
    const auto simulated = run["settings"]["execution"]["virtual"];
    CHECK(simulated["network"]["gradient_seconds"] == machine["gradients"][2]["mean_seconds"]);
    CHECK(simulated["compute"]["kind"] == "measured");
  }
  check_refused(folder.call({"machines", "calibrate", "here", "small.toml"}), {"--force"});
  check_refused(
      folder.call({"machines", "calibrate", "x", "small.toml", "--set",
                   "execution.virtual.gradient_clock=none", "--set", "budget={normalised_time=4}",
                   "--set", "algorithms=[{kind=\"ad-psgd\"}]", "--set", "evaluation={}"}),
      {"no gradients"});
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
