#include "engine/python/model_templates.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "engine/python/model_process.hpp"

extern char** environ;

namespace acid {
namespace {

using nlohmann::json;

constexpr const char* kVariable = "ACID_MODEL_TEMPLATES";  // the folder, for acid-worker
constexpr double kSecondsToBegin = 30;                     // before it executes the file
ModelTemplates* the_templates = nullptr;

// What acid and launchers of MPI give each process anew, by the beginnings of their names. They are
// set in a fork, other variables must be the template's.
constexpr std::array kOwnVariables = {
    "ACID_", "OMPI_", "PMIX_", "PRTE_", "HFI_NO_BACKTRACE", "IPATH_NO_BACKTRACE", "PWD="};

bool is_own(std::string_view variable) {
  return std::ranges::any_of(kOwnVariables,
                             [&](const char* name) { return variable.starts_with(name); });
}

// Where a template listens that has executed the file as this process would.
std::string address_in(const std::string& folder, const json& options, int threads) {
  std::vector<std::string> surroundings;
  for (char** each = environ; *each != nullptr; ++each)
    if (!is_own(*each)) surroundings.emplace_back(*each);
  std::ranges::sort(surroundings);
  std::error_code unknown;
  for (std::string each :
       {text(options, "interpreter"), text(options, "file"), std::to_string(threads),
        std::filesystem::current_path(unknown).string()})
    surroundings.push_back(std::move(each));
  std::string all;
  for (const std::string& each : surroundings) all += each + '\0';
  return folder + "/" + sha256_hex(all).substr(0, 16);
}

json cores_of_this_thread() {
  json cores = json::array();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;  // very many
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::string request_for_fork() {
  json variables = json::object();
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    const std::size_t equals = variable.find('=');
    if (is_own(variable) && equals != std::string_view::npos)
      variables[std::string(variable.substr(0, equals))] = variable.substr(equals + 1);
  }
  return json{
      {"own_variables", kOwnVariables}, {"variables", variables}, {"cores", cores_of_this_thread()}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

bool belongs_to_this_user_alone(const char* folder) {
  struct stat found {};
  return ::lstat(folder, &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

bool send_with_descriptors(int socket, std::string text, std::array<int, 5> descriptors) {
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
  return uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace

ModelTemplates::ModelTemplates(std::function<void(const std::string&)> say) : say_(std::move(say)) {
  ACID_ASSERT(the_templates == nullptr, "two owners of templates");
  ::unsetenv(kVariable);
  the_templates = this;
}

ModelTemplates::~ModelTemplates() {
  clear();
  the_templates = nullptr;
}

void ModelTemplates::prepare(const json& options, int threads) {
  if (the_templates != nullptr && options.is_object() && options.contains("interpreter"))
    the_templates->begin(options, threads);
}

void ModelTemplates::end() {
  if (the_templates != nullptr) the_templates->clear();
}

void ModelTemplates::begin(const json& options, int threads) {
  say_hindrances();
  if (folder_.empty()) {
    std::error_code failed;
    std::string name = std::filesystem::temp_directory_path(failed).string() + "/acid-model-XXXXXX";
    constexpr std::size_t kMost = 60;  // so that an address fits where the system keeps it
    if (failed || name.size() > kMost) name = "/tmp/acid-model-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    ::setenv(kVariable, name.c_str(), 1);
  }
  ::mkdir(folder_.c_str(), S_IRWXU);  // a template that ends removes what is empty
  if (!belongs_to_this_user_alone(folder_.c_str())) return;
  const std::string address = address_in(folder_, options, threads);
  const auto [slot, is_new] = templates_.emplace(address, nullptr);
  if (!is_new) return;
  try {
    json of_template = options;
    of_template["timeout_seconds"] = std::min(number(options, "timeout_seconds"), kSecondsToBegin);
    if (!memory_) memory_.emplace();
    auto process = std::make_unique<ModelProcess>(of_template, *memory_, threads, address);
    process->ask({{"do", "listen"}, {"threads", threads}, {"file", options.at("file")}});
    process->send({{"do", "execute"}});
    slot->second = std::move(process);
  } catch (const Error&) {
    // The processes that execute the file themselves say what is wrong.
  }
}

void ModelTemplates::say_hindrances() {
  for (auto& [address, process] : templates_) {
    if (process == nullptr || !process->has_message()) continue;
    try {
      const std::string hindrance = process->receive().at("hindrance");
      if (!hindrance.empty()) say_(hindrance);
    } catch (const std::exception&) {
      // It has ended without a word.
    }
    process = nullptr;
  }
}

void ModelTemplates::clear() {
  say_hindrances();
  templates_.clear();
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  folder_.clear();
  ::unsetenv(kVariable);
}

int ForkRequest::id() const {
  int id = 0;
  const ssize_t told =
      uninterrupted([&] { return ::recv(answers.get(), &id, sizeof id, MSG_DONTWAIT); });
  return told == sizeof id ? id : 0;
}

std::optional<int> ForkRequest::status_within(double seconds) const {
  int status = SIGKILL;  // unless it says otherwise before it ends
  const double deadline = steady_clock().seconds() + seconds;
  pollfd wait{answers.get(), POLLIN, 0};
  while (true) {
    const double left = std::clamp(deadline - steady_clock().seconds(), 0.0, 1e6);
    if (uninterrupted([&] { return ::poll(&wait, 1, static_cast<int>(left * 1000)); }) == 0)
      return std::nullopt;
    if (::recv(answers.get(), &status, sizeof status, MSG_DONTWAIT) <= 0) return status;
  }
}

ForkRequest ask_for_fork(const json& options, int threads, const std::array<int, 5>& descriptors) {
  const char* folder = std::getenv(kVariable);
  if (folder == nullptr || !belongs_to_this_user_alone(folder)) return {};
  ForkRequest request;
  request.address = address_in(folder, options, threads);
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  if (request.address.size() >= sizeof place.sun_path) return {};
  std::memcpy(place.sun_path, request.address.data(), request.address.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0 ||
      ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      !send_with_descriptors(socket.get(), request_for_fork(), descriptors))
    return {};
  request.template_id = peer.pid;
  request.answers = std::move(socket);
  return request;
}

}  // namespace acid
