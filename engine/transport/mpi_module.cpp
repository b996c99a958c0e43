#include <mpi.h>
#include <sched.h>
#include <unistd.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/base/clock.hpp"
#include "engine/transport/direct_memory.hpp"
#include "engine/transport/first_contact.hpp"
#include "engine/transport/handshake.hpp"
#include "engine/transport/meeting.hpp"
#include "engine/transport/mpi_check.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "engine/transport/mpi_transport.hpp"

namespace acid {
namespace {

constexpr double kMeetingSeconds = 30;

const char* level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "single";
    case MPI_THREAD_FUNNELED:
      return "funneled";
    case MPI_THREAD_SERIALIZED:
      return "serialized";
    case MPI_THREAD_MULTIPLE:
      return "multiple";
  }
  return "unknown";
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "tell its version");
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.size(), version.find_first_of(",\n")));
  return version;
}

std::string standard_version() {
  int major = 0;
  int minor = 0;
  check_mpi(MPI_Get_version(&major, &minor), "tell its standard");
  return fmt::format("{}.{}", major, minor);
}

/// Waits for a collective request. Other processes may be late, and MPI's own wait keeps a core
/// busy.
void await(MPI_Request request, const char* what) {
  constexpr double kYieldSeconds = 0.4e-3;
  constexpr long kLongestSleepNanoseconds = 1'000'000;
  const SteadyClock clock;
  const double begun = clock.seconds();
  timespec sleep{0, 50'000};
  while (true) {
    int finished = 0;
    check_mpi(MPI_Test(&request, &finished, MPI_STATUS_IGNORE), what);
    if (finished != 0) return;
    if (clock.seconds() - begun < kYieldSeconds) {
      ::sched_yield();
      continue;
    }
    ::nanosleep(&sleep, nullptr);
    sleep.tv_nsec = std::min(2 * sleep.tv_nsec, kLongestSleepNanoseconds);
  }
}

class OpenedMpi final : public MpiRuntime {
 public:
  OpenedMpi();
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void assemble(double patience_seconds, const std::function<void(int)>& waiting) override;
  nlohmann::json environment() const override;
  std::string broadcast(const std::string& text) override;
  std::vector<std::string> gather(const std::string& text) override;
  std::unique_ptr<Transport> connect(const MpiTransportOptions& options) override;
  void library_sum(std::span<float> values) override;
  void finish(bool all) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  MPI_Comm duplicate() const;
  void barrier();
  std::vector<char> same_host() const;
  std::vector<Neighbour> neighbours(const DirectMemory& memory, const SharedWindow& window,
                                    const std::string& secret);

  int level_ = MPI_THREAD_SINGLE;
  int rank_ = 0;
  int size_ = 1;
  // One communicator per purpose, so that their messages cannot mix.
  MPI_Comm collectives_ = MPI_COMM_NULL;
  MPI_Comm sums_ = MPI_COMM_NULL;
  std::unique_ptr<DirectMemory> memory_;  // others may read its sign at any time
};

OpenedMpi::OpenedMpi() {
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level_), "start");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "return errors");
  if (level_ < MPI_THREAD_SERIALIZED) {
    throw Error(
        fmt::format("{} offers the thread level '{}' only, and the mpi driver calls it from two "
                    "threads, one at "
                    "a time (\"serialized\"); use a build of MPI with thread support",
                    library_version(), level_name(level_)));
  }
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "tell the rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "tell the number of processes");
}

void OpenedMpi::assemble(double patience_seconds, const std::function<void(int)>& waiting) {
  make_first_contact(rank_, size_, patience_seconds, waiting);
  collectives_ = duplicate();
  sums_ = duplicate();
}

/// Whether MPI is built for it and the processes were started with it.
bool outlives_losses() {
#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI && defined(MPIX_FT)
  void* value = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, static_cast<void*>(&value), &found),
            "tell whether it outlives losses");
  return found != 0 && *static_cast<int*>(value) != 0;
#else
  return false;
#endif
}

/// Duplicates inherit the error handler.
MPI_Comm OpenedMpi::duplicate() const {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "make a communicator");
  return copy;
}

nlohmann::json OpenedMpi::environment() const {
#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
  const bool fault_tolerance = true;
#else
  const bool fault_tolerance = false;
#endif
  nlohmann::json environment{
      {"library", library_version()},         {"standard", standard_version()},
      {"thread_level", level_name(level_)},   {"fault_tolerance", fault_tolerance},
      {"outlives_losses", outlives_losses()}, {"processes", size_}};
  for (const char* layer : {"pml", "btl", "mtl"}) {
    const char* chosen = std::getenv(fmt::format("OMPI_MCA_{}", layer).c_str());
    if (chosen != nullptr) environment["chosen"][layer] = chosen;
  }
  return environment;
}

void OpenedMpi::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(collectives_, &request), "wait for the other processes");
  await(request, "wait for the other processes");
}

std::string OpenedMpi::broadcast(const std::string& text) {
  constexpr const char* kWhat = "spread rank 0's text";
  std::uint64_t size = text.size();
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&size, 1, MPI_UINT64_T, 0, collectives_, &request), kWhat);
  await(request, kWhat);
  ACID_ASSERT(size <= INT_MAX, "a text of {} bytes", size);
  std::string result = rank_ == 0 ? text : std::string(size, ' ');
  check_mpi(MPI_Ibcast(result.data(), static_cast<int>(size), MPI_CHAR, 0, collectives_, &request),
            kWhat);
  await(request, kWhat);
  return result;
}

std::vector<std::string> OpenedMpi::gather(const std::string& text) {
  constexpr const char* kWhat = "gather texts";
  const auto count = static_cast<std::size_t>(size_);
  std::vector<int> sizes(count), begins(count);
  int size = static_cast<int>(text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, collectives_, &request),
            kWhat);
  await(request, kWhat);
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < count; ++k) {
    begins[k] = static_cast<int>(total);
    total += static_cast<std::uint64_t>(sizes[k]);
    ACID_ASSERT(total <= INT_MAX, "texts of {} bytes and more", total);
  }
  std::string joined(total, ' ');
  check_mpi(MPI_Iallgatherv(text.data(), size, MPI_CHAR, joined.data(), sizes.data(), begins.data(),
                            MPI_CHAR, collectives_, &request),
            kWhat);
  await(request, kWhat);
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < count; ++k)
    texts.push_back(
        joined.substr(static_cast<std::size_t>(begins[k]), static_cast<std::size_t>(sizes[k])));
  return texts;
}

/// By rank: whether the process is on this host according to MPI, for which a network namespace
/// with its own daemon is another host, though memory is shared.
std::vector<char> OpenedMpi::same_host() const {
  constexpr const char* kWhat = "tell which processes share a host";
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
            kWhat);
  MPI_Group here = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(host, &here), kWhat);
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), kWhat);
  int members = 0;
  check_mpi(MPI_Group_size(here, &members), kWhat);
  std::vector<int> local(static_cast<std::size_t>(members)), ranks(local.size());
  for (int k = 0; k < members; ++k) local[static_cast<std::size_t>(k)] = k;
  check_mpi(MPI_Group_translate_ranks(here, members, local.data(), world, ranks.data()), kWhat);
  std::vector<char> shared(static_cast<std::size_t>(size_), 0);
  for (const int rank : ranks) shared[static_cast<std::size_t>(rank)] = 1;
  check_mpi(MPI_Group_free(&here), kWhat);
  check_mpi(MPI_Group_free(&world), kWhat);
  check_mpi(MPI_Comm_free(&host), kWhat);
  return shared;
}

/// ACID_MPI_BODIES=mpi sends all bodies by MPI; ACID_MPI_BODIES=memory uses no windows.
std::vector<Neighbour> OpenedMpi::neighbours(const DirectMemory& memory, const SharedWindow& window,
                                             const std::string& secret) {
  const char* const wanted = std::getenv("ACID_MPI_BODIES");
  const std::string bodies = wanted == nullptr ? "window" : wanted;
  const std::vector<char> shared = same_host();
  MemorySign own = memory.sign();
  own.window = window.descriptor();
  const std::string shown(reinterpret_cast<const char*>(&own), sizeof own);
  const std::vector<std::string> signs = gather(shown);
  std::vector<Neighbour> result(signs.size());
  std::string readable(signs.size(), '0');
  for (std::size_t k = 0; k < signs.size(); ++k) {
    if (bodies == "mpi" || shared[k] == 0) continue;
    MemorySign sign;
    ACID_ASSERT(signs[k].size() == sizeof sign, "a sign of {} bytes", signs[k].size());
    std::copy(signs[k].begin(), signs[k].end(), reinterpret_cast<char*>(&sign));
    result[k].pid = sign.pid;
    result[k].can_be_read = DirectMemory::can_read(sign, static_cast<int>(k), secret);
    if (!result[k].can_be_read) continue;
    readable[k] = '1';
    if (bodies == "window") result[k].window = static_cast<int>(sign.window);
  }
  const std::vector<std::string> tables = gather(readable);
  for (std::size_t k = 0; k < tables.size(); ++k)
    result[k].reads_here = tables[k][static_cast<std::size_t>(rank_)] == '1';
  return result;
}

/// What a process that cannot listen sends instead of its card, so that the others do not wait.
constexpr std::string_view kCannot = "cannot: ";

std::unique_ptr<Transport> OpenedMpi::connect(const MpiTransportOptions& options) {
  const std::string secret = broadcast(rank_ == 0 ? new_secret() : "");
  Listener listener;
  std::string introduction;
  try {
    listener = listen_to_others(rank_, options.ports, options.interface);
    introduction = listener.card.text();
  } catch (const Error& error) {
    introduction = fmt::format("{}{}", kCannot, error.what());
  }
  std::vector<Card> cards;
  std::vector<ProcessPlace> places;
  for (const std::string& text : gather(introduction)) {
    if (text.rfind(kCannot, 0) == 0) throw Error(text.substr(kCannot.size()));
    cards.push_back(parse_card(text));
    places.push_back(cards.back().place);
  }
  memory_ = std::make_unique<DirectMemory>(rank_, secret);
  auto window = std::make_unique<SharedWindow>();
  std::vector<Neighbour> around = neighbours(*memory_, *window, secret);
  auto side = std::make_unique<SideChannel>(rank_, std::move(places),
                                            meet(listener, cards, secret, kMeetingSeconds));
  return std::make_unique<MpiTransport>(duplicate(), std::move(side), rank_, std::move(around),
                                        std::move(window));
}

void OpenedMpi::library_sum(std::span<float> values) {
  // MPI's blocking sum is the fastest, but keeps a core busy: so it begins when all are ready.
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(sums_, &request), "wait for the other processes");
  await(request, "wait for the other processes");
  constexpr std::size_t kMostFloats = std::size_t{1} << 30;
  for (std::size_t begin = 0; begin < values.size(); begin += kMostFloats) {
    const auto count = static_cast<int>(std::min(kMostFloats, values.size() - begin));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data() + begin, count, MPI_FLOAT, MPI_SUM, sums_),
              "sum over the processes");
  }
}

void OpenedMpi::finish(bool all) {
  if (all) barrier();
  check_mpi(MPI_Finalize(), "end");
}

void OpenedMpi::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  ::_exit(exit_code);  // should MPI not know how
}

}  // namespace
}  // namespace acid

/// The module's only entry point; see start_mpi(). Throws acid::Error.
extern "C" acid::MpiRuntime* acid_mpi_runtime() {
  static acid::OpenedMpi runtime;
  return &runtime;
}
