// Claims by the real programs: written before the runs, judged after them.
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

const std::string kClaimed = R"(
seeds = "1-7"
task.dataset = { kind = "quadratic", dimension = 10, noise = 0.5 }
workers.count = 4
budget.gradients = 400
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
)";

std::string claim(const std::string& name, const std::string& keys) {
  return "[[claims]]\nname = \"" + name + "\"\nalgorithm = \"ad-psgd\"\nthan = \"ar-sgd\"\n" + keys;
}

const std::string kBytes =
    claim("fewer bytes", "kind = \"ratio\"\nmetric = \"bytes\"\nbounds = [0.01, 0.9]\n");
const std::string kTurned =
    claim("all bytes", "kind = \"ratio\"\nmetric = \"bytes\"\nbounds = [2, 3]\n");

}  // namespace

TEST_CASE("acid claim judges what was claimed before the runs, and says what was not") {
  const Folder folder;
  folder.write("study.toml", kClaimed + kBytes);
  CHECK_THAT(
      folder.call({"plan", "study.toml"}).out,
      ContainsSubstring("fewer bytes: bytes of AD-PSGD is 0.01 to 0.9 times that of AR-SGD"));
  CHECK(folder.told({"plan", "study.toml"})["claims"][0]["smallest_p"] == 1 / 128.0);
  CHECK(folder.call({"claim", "study.toml"}).code == 3);  // no store yet
  CHECK_THAT(folder.done({"run", "study.toml"}).out, ContainsSubstring("holds"));
  const Result held = folder.call({"claim"});
  CHECK(held.code == 0);
  CHECK_THAT(held.out, ContainsSubstring("fewer bytes") && !ContainsSubstring("altered"));
  json claims = folder.told({"claim", "study"})["claims"];
  REQUIRE(claims.size() == 1);
  CHECK(claims[0]["verdict"] == "holds");
  CHECK(claims[0]["registered"] == true);
  CHECK(claims[0]["n"] == 7);

  // Written when the runs are known.
  folder.write("later.toml", kClaimed + kBytes + kTurned);
  const Result later = folder.call({"claim", "later.toml"});
  CHECK(later.code == 5);
  CHECK_THAT(later.out,
             ContainsSubstring("does not hold") &&
                 ContainsSubstring("or altered, after its first"));
  folder.done({"run", "later.toml"});
  const Result told = folder.call({"claim", "later", "--json"});
  claims = json::parse(told.out)["claims"];
  CHECK(claims[0]["registered"] == true);
  CHECK(claims[1]["registered"] == false);
}

TEST_CASE("acid claim without claims or runs says what to do") {
  const Folder folder;
  folder.write("plain.toml", kClaimed);
  folder.done({"run", "plain.toml"});
  const Result named = folder.call({"claim"}), file = folder.call({"claim", "plain.toml"});
  CHECK(named.code == 2);
  CHECK_THAT(named.err, ContainsSubstring("[[claims]]"));
  CHECK(file.code == 2);
}

}  // namespace acid::test
