// [execution.mpi]: its defaults, and which of its keys make another run.
#include <set>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

const std::string kMpi = "[execution]\ndriver = \"mpi\"\n";

json section(const std::string& keys, const std::vector<std::string>& overrides = {}) {
  const Plan plan = compiled(kMpi + "[execution.mpi]\n" + keys, overrides);
  return plan.runs.at(0).settings["execution"]["mpi"];
}

std::string mpi_digest(const std::string& keys) {
  return digest(kMpi + "[execution.mpi]\n" + keys);
}

}  // namespace

TEST_CASE("a run under MPI has the table execution.mpi, other runs do not") {
  const PlannedRun run = compiled(kMpi).runs.at(0);
  CHECK(run.settings["execution"]["mpi"] == json{{"launcher", "mpirun"},
                                                 {"hosts", json::array()},
                                                 {"hostfile", nullptr},
                                                 {"processes_per_host", nullptr},
                                                 {"arguments", json::array()},
                                                 {"all_reduce", "ordered"},
                                                 {"ports", nullptr},
                                                 {"interface", nullptr},
                                                 {"on_loss", "restart"},
                                                 {"slow_workers", json::object()},
                                                 {"start_seconds", 300}});
  CHECK(run.settings["record"]["events"] == true);
  const std::string table = "[execution.mpi]\nhosts = [\"a\"]\nslow_workers = { 0 = 2 }\n";
  const PlannedRun other = compiled(table).runs.at(0);
  CHECK_FALSE(other.settings["execution"].contains("mpi"));
  CHECK(other.digest == compiled("").runs.at(0).digest);
}

TEST_CASE("the command line reaches every key of execution.mpi") {
  const json given =
      section("", {"execution.mpi.hosts=[\"a\", \"b\"]",
                   "execution.mpi.arguments=[\"--mca\",\"plm_rsh_agent\",\"/x\"]",
                   "execution.mpi.processes_per_host=2", "execution.mpi.ports=\"20000-20100\"",
                   "execution.mpi.interface=eth0", "execution.mpi.all_reduce=library"});
  CHECK(given["hosts"] == json{"a", "b"});
  CHECK(given["arguments"] == json{"--mca", "plm_rsh_agent", "/x"});
  CHECK(given["processes_per_host"] == 2);
  CHECK(given["ports"] == "20000-20100");
  CHECK(given["interface"] == "eth0");
  CHECK(given["all_reduce"] == "library");
}

TEST_CASE("where the processes of a run are makes no other run, how they reduce does") {
  const std::string base = mpi_digest("");
  for (const char* keys : {"launcher = \"srun\"", "launcher = \"none\"", "hosts = [\"a\", \"b\"]",
                           "hostfile = \"h\"", "processes_per_host = 2", "arguments = [\"-v\"]",
                           "ports = \"1-9\"", "interface = \"eth0\"", "on_loss = \"go-on\""}) {
    INFO(keys);
    CHECK(mpi_digest(keys) == base);
  }
  std::set<std::string> seen{base, compiled("[execution]\ndriver = \"threads\"").runs[0].digest};
  for (const char* keys : {"all_reduce = \"library\"", "slow_workers = { 1 = 3.0 }"}) {
    INFO(keys);
    CHECK(seen.insert(mpi_digest(keys)).second);
  }
}

TEST_CASE("hosts, hostfile and launcher: what is said later drops what it excludes") {
  const json file = section("hosts = [\"a\"]", {"execution.mpi.hostfile=nodes"});
  CHECK(file["hosts"] == json::array());
  CHECK(file["hostfile"] == "nodes");
  const json hosts = section("hostfile = \"nodes\"", {"execution.mpi.hosts=[\"a\"]"});
  CHECK(hosts["hosts"] == json{"a"});
  CHECK(hosts["hostfile"].is_null());
  const std::string all =
      "hosts = [\"a\", \"b\"]\nprocesses_per_host = 2\narguments = [\"-v\"]\nports = \"1-9\"";
  const json slurm = section(all, {"execution.mpi.launcher=srun"});
  CHECK(slurm["hosts"] == json::array());
  CHECK(slurm["processes_per_host"] == 2);
  const json alone = section(all, {"execution.mpi.launcher=none"});
  CHECK(alone["processes_per_host"].is_null());
  CHECK(alone["arguments"] == json::array());
  CHECK(alone["ports"] == "1-9");
}

TEST_CASE("every method that runs on threads runs under MPI") {
  for (const char* kind : {"ar-sgd", "d-psgd", "ad-psgd", "a2cid2"}) {
    INFO(kind);
    CHECK_NOTHROW(compiled(kMpi + "[[algorithms]]\nkind = \"" + kind + "\"\n"));
  }
}

}  // namespace acid::test
