// `acid submit`: the batch script that it writes, and its handling of sbatch's answers.
#include <cstdlib>
#include <filesystem>
#include <tuple>
#include <vector>

#include "tests/cli/scripted_worker.hpp"

using acid::test::Folder;
using acid::test::Result;
using acid::test::ScriptedWorker;
namespace fs = std::filesystem;

namespace {

/// A folder with recipes, and an sbatch that answers as `script` says. With an empty script there
/// is no sbatch.
struct Login : ScriptedWorker {
  explicit Login(const std::string& script =
                     "for script; do :; done; echo \"$@\" > asked; cp \"$script\" taken; echo "
                     "\"4711;cluster\"\n")
      : ScriptedWorker("exit 1\n") {
    fs::create_directory(path("bin"));
    if (!script.empty()) write_program("bin/sbatch", "#!/bin/sh\nPATH=/usr/bin:/bin\n" + script);
  }
  Result submit(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"submit", "one.toml"});
    return call(options, {"PATH=" + path("bin")});
  }
  std::string script(std::vector<std::string> options = {}) const {
    options.push_back("--dry-run");
    const Result result = submit(options);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result.out;
  }
  /// The only file in the store's submit folder with this ending.
  std::string submitted(const std::string& ending) const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(path("acid-store/submit")))
      if (entry.path().extension() == ending) {
        CHECK(found.empty());
        found = entry.path().string();
      }
    REQUIRE_FALSE(found.empty());
    return found;
  }
};

}  // namespace

TEST_CASE("submit --dry-run prints a script that holds all the job needs, and does nothing") {
  const Login login;
  const std::string script = login.script();
  CHECK_THAT(script, StartsWith("#!/bin/bash\n"));
  for (const char* line :
       {"#SBATCH --ntasks=1\n", "#SBATCH --cpus-per-task=1\n", "#SBATCH --dependency=singleton\n",
        "#SBATCH --open-mode=append\n", "#SBATCH --requeue\n", "#SBATCH --signal=B:USR1@120\n"})
    CHECK_THAT(script, ContainsSubstring(line));
  CHECK_THAT(script, ContainsSubstring(acid::test::kOneRun));  // the recipe itself
  CHECK_THAT(script,
             ContainsSubstring(std::string(BINARY_ROOT) + "/acid run " + login.path("acid-store")));
  CHECK_THAT(script, ContainsSubstring("--copy-of " + login.path("one.toml")));
  for (const char* absent : {"--time", "scontrol", "--array", "--share", "--driver", "--gpus"})
    CHECK_THAT(script, !ContainsSubstring(absent));
  CHECK_FALSE(login.has("acid-store"));
  CHECK_FALSE(login.has("taken"));
}

TEST_CASE("the printed script runs as it is, with the recipe's text to the letter") {
  const Login login;
  // Without a newline at the end, and with the word that ends the text in the script.
  const std::string recipe = std::string(acid::test::kOneRun) + "# END-OF-RECIPE\n#\n# the end";
  login.write("one.toml", recipe);
  std::string script = login.script({"--set", "budget.gradients=50"});
  login.write("one.toml", "this is no recipe any more");
  const std::string path = login.write_program("script.sh", script);
  const std::string command = "cd " + login.path() + " && SLURM_JOB_ID=7 " + path + " > words 2>&1";
  REQUIRE(std::system(("ACID_WORKER= /bin/bash -c '" + command + "'").c_str()) == 0);
  INFO(login.read("words"));
  CHECK(login.read(login.submitted(".toml").substr(login.path().size() + 1)) == recipe);
  const auto runs = login.told({"list"})["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs[0]["state"] == "finished");
  CHECK(runs[0]["driver"] == "virtual");
}

TEST_CASE("the tasks of an array share the runs, and wait for no job of the same name") {
  const Login login;
  const std::string script = login.script({"--array", "4"});
  CHECK_THAT(script, ContainsSubstring("#SBATCH --array=1-4\n") &&
                         ContainsSubstring(" --share \"${SLURM_ARRAY_TASK_ID:-1}/4\" &\n") &&
                         !ContainsSubstring("singleton"));
  const Result result = login.submit({"--array", "4"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(login.read("asked"), ContainsSubstring(".%A_%a.log "));
  CHECK_THAT(result.err,
             ContainsSubstring("1 run, shared by 4 tasks") && ContainsSubstring(".4711_*.log"));
  CHECK(login.has("acid-store/shared-among-hosts"));  // several nodes may write to it
  CHECK_THAT(login.script({"--array", "4", "--own-stores"}),
             ContainsSubstring(" --own-stores --share "));
  check_refused(login.submit({"--array", "0"}), {"--array"});
  check_refused(login.submit({"--own-stores"}), {"--array"});
}

TEST_CASE("a job asks for the cores and GPUs that its runs use") {
  const Login login;
  // Simulated gradients of models are computed side by side, as many as the node has cores for.
  const std::vector<std::string> model{"--set", "task.dataset={kind=\"gaussian-mixture\"}",
                                       "--set", "task.model={kind=\"mlp\",hidden=[4]}",
                                       "--set", "task.batch_size=4",
                                       "--set", "workers.count=40"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), model.begin(), model.end());
    return login.script(more);
  };
  CHECK_THAT(with({}), ContainsSubstring("#SBATCH --cpus-per-task=16\n"));
  CHECK_THAT(with({"--cores", "20"}), ContainsSubstring("#SBATCH --cpus-per-task=20\n"));
  CHECK_THAT(with({"--jobs", "3"}), ContainsSubstring("#SBATCH --cpus-per-task=48\n") &&
                                        ContainsSubstring(" --jobs 3 &\n"));
  CHECK_THAT(with({"--driver", "mpi"}), ContainsSubstring("#SBATCH --ntasks=40\n"));
  CHECK_THAT(login.script({"--jobs", "3"}), ContainsSubstring("#SBATCH --cpus-per-task=3\n"));
  CHECK_THAT(login.script({"--gpus", "2"}), ContainsSubstring("#SBATCH --gpus-per-task=2\n"));
  CHECK_THAT(login.script({"--driver", "mpi", "--set", "execution.device=cuda"}),
             ContainsSubstring("#SBATCH --ntasks=2\n") &&
                 ContainsSubstring("#SBATCH --gpus-per-task=1\n"));
  check_refused(login.submit({"--driver", "mpi", "--jobs", "2"}), {"--jobs", "--array"});
}

TEST_CASE("a job executes a prologue, and names a folder for copies of data files") {
  const Login login;
  login.write("modules", "module load openmpi\n. venv/bin/activate\n\n");
  const std::string script =
      login.script({"--prologue", "modules", "--scratch", "$TMPDIR/a \"b\""});
  CHECK_THAT(script, ContainsSubstring("# From modules:\nmodule load openmpi\n. venv/bin/activate\n"
                                       "\ntrap - ERR\n\n# Each node"));
  CHECK_THAT(script, ContainsSubstring("export ACID_SCRATCH=\"$TMPDIR/a \\\"b\\\"\"\n"));
  CHECK(script.find("module load") < script.find("/acid run"));
  check_refused(login.submit({"--prologue", "none"}), {"none", "module load"});
}

TEST_CASE("a prologue that bash cannot read is refused, and a command of it that fails is told") {
  const Login login;
  for (const char* wrong :
       {"if true\n", "echo 'a\n", "cat <<END\na here-document without an end\n"}) {
    login.write("-wrong", wrong);
    check_refused(login.submit({"--prologue=-wrong", "--dry-run"}), {"--prologue -wrong", "line"});
  }
  login.write("empty", "");
  login.script({"--prologue", "empty"});
  login.write("modules", "true\n(exit 7)\nfalse || true\necho done \\");
  login.write_program("script.sh", login.script({"--prologue", "modules"}));
  const std::string command = "cd " + login.path() + " && SLURM_JOB_ID=7 ./script.sh > words 2>&1";
  CHECK(std::system(("ACID_WORKER= /bin/bash -c '" + command + "'").c_str()) == 0);
  const std::string words = login.read("words");
  CHECK_THAT(words,
             ContainsSubstring("The prologue's command \"( exit 7 )\" failed (exit code 7).") ||
                 ContainsSubstring("The prologue's command \"(exit 7)\" failed (exit code 7)."));
  CHECK_THAT(words, ContainsSubstring("done\n"));
  CHECK(acid::test::count_of("The prologue's command", words) == 1);
}

TEST_CASE("submit takes the time limits that Slurm takes, and none that ends before the saving") {
  const Login login;
  for (const char* time : {"30", "30:00", "8:00:00", "2-0", "1-12:30", "1-0:0:1", "2:01", "0"})
    CHECK_THAT(login.script({"--time", time}),
               ContainsSubstring(std::string("#SBATCH --time=") + time + "\n"));
  for (const char* time : {"2h", "1:2:3:4", "1-2:3:4:5", "1-", "-1", ":30", "30:", "1:2-3", "1 0",
                           "1--2", "UNLIMITED", "12345678901234567890"})
    check_refused(login.submit({std::string("--time=") + time, "--dry-run"}),
                  {"--time", "(days-hours:minutes)"});
  for (const char* time : {"1", "2", "2:00", "0-0:2"})
    check_refused(login.submit({"--time", time, "--until-finished"}), {"--save-seconds", "120 s"});
  check_refused(login.submit({"--time", "1:00:00", "--save-seconds", "3600"}), {"3600 s"});
  CHECK_FALSE(login.has("acid-store"));
}

TEST_CASE("a study that is finished in the store is not submitted") {
  const Login login;
  const std::vector<std::string> real{"ACID_WORKER=", "PATH=" + login.path("bin")};
  REQUIRE(login.call({"run", "one.toml", "--set", "budget.gradients=20"}, real).code == 0);
  const auto submit = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"submit", "one.toml", "--set", "budget.gradients=20"});
    return login.call(options, real);
  };
  const Result finished = submit({"--array", "4"});
  CHECK(finished.code == 0);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err, ContainsSubstring("1 run: 1 finished: nothing was submitted") &&
                               ContainsSubstring("acid compare "));
  CHECK_FALSE(login.has("asked"));
  CHECK_FALSE(login.has("acid-store/shared-among-hosts"));
  CHECK_THAT(submit({"--dry-run"}).out, StartsWith("#!/bin/bash\n"));
  // An experiment of the same runs under another name can then be compared.
  login.write("other.toml", std::string(acid::test::kOneRun) + "\n# another text\n");
  CHECK(login.call({"submit", "other.toml", "--set", "budget.gradients=20"}, real).code == 0);
  CHECK_FALSE(login.has("asked"));
  // One seed more is more to do.
  CHECK(submit({"--set", "seeds=[1,2]"}).out == "4711\n");
}

TEST_CASE("a search is submitted until it has chosen and the chosen runs are finished") {
  const Login login;
  login.write("one.toml", std::string(acid::test::kOneRun) +
                              "[search]\noptimizer.learning_rate = [0.02, 0.05]\nseeds = [9]\n");
  const std::vector<std::string> real{"ACID_WORKER=", "PATH=" + login.path("bin")};
  CHECK(login.call({"submit", "one.toml"}, real).out == "4711\n");
  const Result run = login.call({"run", "one.toml"}, real);
  INFO(run.err);
  REQUIRE(run.code == 0);
  const Result again = login.call({"submit", "one.toml"}, real);
  CHECK_THAT(again.err, ContainsSubstring("3 runs: 3 finished: nothing was submitted"));
  CHECK(again.out.empty());
}

TEST_CASE("options of submit become options of the job, those for sbatch last") {
  const Login login;
  const std::string script =
      login.script({"--partition", "gpu", "--account", "me", "--time", "1-0", "--nodes", "2",
                    "--sbatch", "--qos=high --mem=4G", "--sbatch", "--mail-type=END",
                    "--save-seconds", "300", "--until-finished", "--allow-changed"});
  for (const char* line :
       {"#SBATCH --partition=gpu\n", "#SBATCH --account=me\n", "#SBATCH --time=1-0\n",
        "#SBATCH --nodes=2\n", "#SBATCH --signal=B:USR1@300\n", "scontrol requeue",
        "#SBATCH --qos=high --mem=4G\n#SBATCH --mail-type=END\n", " --allow-changed &\n"})
    CHECK_THAT(script, ContainsSubstring(line));
  CHECK_THAT(login.script({"--driver", "mpi"}),
             ContainsSubstring("#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=1\n") &&
                 ContainsSubstring(" --driver mpi &\n"));
  // Drivers of one process ask for one task, with a core for each thread.
  CHECK_THAT(login.script({"--driver", "threads", "--set", "workers.count=6"}),
             ContainsSubstring("#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=6\n") &&
                 ContainsSubstring("--set workers.count=6 --driver threads &\n"));
  CHECK_THAT(login.script({"--set", "execution.driver=threads"}),
             ContainsSubstring("#SBATCH --ntasks=1\n") &&
                 ContainsSubstring(" --set execution.driver=threads &\n"));
  // Where the workers run is left to Slurm, how many on a node is not.
  CHECK_THAT(login.script({"--driver", "mpi", "--set", "execution.mpi.processes_per_host=1"}),
             ContainsSubstring("#SBATCH --ntasks=2\n#SBATCH --ntasks-per-node=1\n"));
  for (const std::string setting :
       {"execution.mpi.hosts=[\"a\", \"b\"]", "execution.mpi.hostfile=\"f\"",
        "execution.mpi.launcher=\"none\""})
    check_refused(login.submit({"--driver", "mpi", "--set", setting}),
                  {setting.substr(0, setting.find('='))});
  check_refused(login.submit({"--set", "workers.count=0"}), {});
  CHECK_FALSE(login.has("taken"));
  CHECK_FALSE(login.has("acid-store"));
}

TEST_CASE("submit keeps the script, plans the runs, and prints the job's number") {
  const Login login;
  const Result result = login.submit({"--set", "optimizer.learning_rate=0.03"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out == "4711\n");
  for (const char* part : {"acid watch --wait", "scancel --batch --signal=TERM 4711", ".4711.log"})
    CHECK_THAT(result.err, ContainsSubstring(part));
  CHECK(login.read("taken") == login.script({"--set", "optimizer.learning_rate=0.03"}));

  CHECK_THAT(login.read("asked"), ContainsSubstring(".%j.log "));
  const auto runs = login.told({"list"})["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs[0]["state"] == "planned");
  CHECK(runs[0]["driver"] == "virtual");
}

TEST_CASE("the script does what it says: it passes signals on and waits for acid") {
  const Login login;
  const Result submitted = login.submit({"--driver", "threads"});
  REQUIRE(submitted.code == 0);
  // A program in place of acid that takes its time to save.
  const std::string acid_program =
      login.write_program("slow-acid",
                          "#!/bin/sh\ntrap 'sleep 0.3; echo saved >> result; exit 130' TERM\n"
                          "echo up > up\nfor i in $(seq 1200); do sleep 0.1; done\n");
  std::string script = login.read("taken");
  const std::string real = std::string(BINARY_ROOT) + "/acid run";
  REQUIRE(script.find(real) != std::string::npos);
  script.replace(script.find(real), real.size(), acid_program);
  const std::string path = login.write_program("script.sh", script);
  const char* const kSignals[] = {"TERM", "USR1"};
  for (const char* signal : kSignals) {
    fs::remove(login.path("up"));
    fs::remove(login.path("result"));
    const std::string command = "cd " + login.path() + "; " + path + " > words & id=$!; cd " +
                                login.path() + "; until [ -e up ]; do sleep 0.05; done; kill -" +
                                signal + " $id; wait $id; [ $? -eq 130 ]";
    INFO(command);
    CHECK(std::system(("/bin/bash -c '" + command + "'").c_str()) == 0);
    CHECK(login.read("result") == "saved\n");
    CHECK((login.read("words").find("time limit") != std::string::npos) ==
          (std::string(signal) == "USR1"));
  }
}

TEST_CASE("without sbatch, and when it refuses, submit says what to do") {
  check_refused(Login("").submit(), {"sbatch", "slurm-client", "acid run --driver mpi"}, 1);
  const Login refused("echo 'sbatch: error: invalid partition' >&2; exit 1\n");
  check_refused(refused.submit(), {"invalid partition", "exit code 1", ".sh"}, 1);
}

TEST_CASE("relative file names in a copy of a recipe start at the original's folder") {
  const Folder folder;
  fs::create_directories(folder.path("data"));
  fs::create_directories(folder.path("elsewhere"));
  folder.write("data/points.txt", "1 1:0.5 2:1\n-1 1:-0.5 2:-1\n1 1:0.25\n-1 2:-2\n");
  const std::string recipe = R"(
task.dataset = { kind = "logistic", path = "points.txt" }
task.batch_size = 2
workers.count = 2
budget.gradients = 10
algorithms = ["ad-psgd"]
)";
  folder.write("data/original.toml", recipe);
  folder.write("elsewhere/copy.toml", recipe);
  const std::string original = folder.done({"plan", "data/original.toml", "--json"}).out;
  check_refused(folder.call({"plan", "elsewhere/copy.toml", "--json"}), {});
  CHECK(folder.done({"plan", "elsewhere/copy.toml", "--copy-of", "data/original.toml", "--json"})
            .out == original);
}

TEST_CASE("with ACID_SCRATCH a run reads copies of its data files, and records the files") {
  const Folder folder;
  fs::create_directories(folder.path("data"));
  folder.write("data/points.txt", "1 1:0.5 2:1\n-1 1:-0.5 2:-1\n1 1:0.25\n-1 2:-2\n");
  folder.write("one.toml", R"(
task.dataset = { kind = "logistic", path = "data/points.txt" }
task.batch_size = 2
workers.count = 2
budget.gradients = 10
algorithms = ["ad-psgd"]
)");
  const auto run_in = [&](const std::string& store, const std::string& scratch) {
    const Result result =
        folder.call({"run", "one.toml", "--store", store}, {"ACID_SCRATCH=" + scratch});
    INFO(result.err);
    REQUIRE(result.code == 0);
    auto shown = folder.told({"show", "@latest", "--store", store});
    CHECK(shown["files"][0]["path"] == folder.path("data/points.txt"));  // the copy is not named
    return std::tuple(shown["digests"], shown["files"], shown["log"]);
  };
  const auto alone = run_in("alone", "");
  const auto copied = run_in("copied", folder.path("scratch"));
  CHECK(copied == alone);
  const auto copies = [&] {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path("scratch")))
      if (entry.path().filename() == "points.txt") files.push_back(entry.path());
    return files;
  };
  REQUIRE(copies().size() == 1);
  const auto made = fs::last_write_time(copies()[0]);
  run_in("again", folder.path("scratch"));
  CHECK(copies().size() == 1);
  CHECK(fs::last_write_time(copies()[0]) == made);
  // One of which a part is missing, or that is gone, is made again.
  fs::resize_file(copies()[0], 5);
  run_in("mended", folder.path("scratch"));
  CHECK(fs::file_size(copies()[0]) == fs::file_size(folder.path("data/points.txt")));
  fs::remove(copies()[0]);
  run_in("replaced", folder.path("scratch"));
  CHECK(copies().size() == 1);
  // A file that has changed gets another copy.
  folder.write("data/points.txt", "1 1:0.5 2:1\n-1 1:-0.5 2:-1\n1 1:0.25\n-1 2:-3.5\n");
  CHECK(std::get<0>(run_in("changed", folder.path("scratch"))) != std::get<0>(alone));
  CHECK(copies().size() == 2);
  // Where nothing can be copied the file itself is read, and the log says so.
  folder.write("no-folder", "");
  const auto elsewhere = run_in("elsewhere", folder.path("no-folder"));
  CHECK_THAT(std::get<2>(elsewhere).dump(), ContainsSubstring("is read where it is"));
}
