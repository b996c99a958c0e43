#pragma once

struct rusage;

namespace acid {

/// A source of seconds. A parameter wherever time is read, so that tests can set the time.
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

/// A clock with static lifetime.
const Clock& steady_clock();

/// The time of SteadyClock to a few milliseconds, at a fifth of the cost: for frequent readings.
class CoarseClock final : public Clock {
 public:
  double seconds() const override;
};

/// Processor time, of user and system, in the result of getrusage(2) or wait4(2).
double cpu_seconds(const rusage& usage);
/// Processor time of all threads of this process so far.
double cpu_seconds();

}  // namespace acid
