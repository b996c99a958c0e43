#include "cli/export_torchscript.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "cli/processes/child.hpp"
#include "cli/processes/supervisor.hpp"
#include "exports/final_model.hpp"

namespace acid {
namespace {

// Has the worker write the file, on the worker's standard output.
void export_from_worker(const ExportRequest& request, const char* flag) {
  const std::string& run = request.runs.ids.front();
  Supervisor supervisor;
  supervisor.start(
      run, Command{worker_program(), "--store", request.session.store_folder, "--run", run, flag},
      Child::Output::data);
  std::vector<Supervisor::Ending> ended;
  while (ended.empty()) ended = supervisor.wait(-1);
  const Supervisor::Ending& ending = ended.front();
  const std::string failure = fmt::format("run {} is not exported: acid-worker ended with {}", run,
                                          status_text(ending.status));
  if (supervisor.interrupted()) throw Error(failure, Exit::interrupted);
  if (!WIFEXITED(ending.status)) throw Error(failure);
  if (const auto exit = static_cast<Exit>(WEXITSTATUS(ending.status)); exit != Exit::ok)
    throw Error(failure, exit);
  ExportOutput output(request.output);
  output.write(ending.output);
  output.finish();
}

}  // namespace

void export_torchscript(const ExportRequest& request) {
  const RunDetail run = run_detail(request.store, request.runs.ids.front());
  require_model(run);
  final_mean_of(run);  // throws when there is no final mean
  export_from_worker(request, "--torchscript");
}

void export_test_set(const ExportRequest& request) {
  require_model(run_detail(request.store, request.runs.ids.front()));
  export_from_worker(request, "--test-set");
}

}  // namespace acid
