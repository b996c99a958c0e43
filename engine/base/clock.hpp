#pragma once

struct rusage;

namespace acid {

/// Where seconds come from. A parameter wherever time is read, so that tests can own it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotone seconds since an arbitrary origin. Any thread.
  virtual double seconds() const = 0;
};

/// std::chrono::steady_clock.
class SteadyClock final : public Clock {
 public:
  double seconds() const override;
};

/// One that is always there.
const Clock& steady_clock();

/// The same time to a few milliseconds, at a fifth of the cost: for asking again and again.
class CoarseClock final : public Clock {
 public:
  double seconds() const override;
};

/// Processor time, of the user and of the system, that getrusage(2) or wait4(2) tells of.
double cpu_seconds(const rusage& usage);
/// That of all threads of this process so far.
double cpu_seconds();

}  // namespace acid
