#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/claims.hpp"
#include "tests/reports/synthetic.hpp"

/// Claims about two algorithms, and comparisons that decide them.
namespace acid::claimed {

using synthetic::run;

inline std::vector<std::uint64_t> seeds_to(std::uint64_t last) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= last; ++seed) seeds.push_back(seed);
  return seeds;
}

inline Claim claim_of(Claim::Kind kind, std::uint64_t seeds = 8) {
  Claim claim;
  claim.name = "a claim";
  claim.kind = kind;
  claim.algorithm = "ad-psgd";
  claim.than = "ar-sgd";
  claim.metric = "eval_loss";
  claim.seeds = seeds_to(seeds);
  return claim;
}

using ValueOf =
    std::function<double(const std::string& algorithm, std::uint64_t seed, int workers)>;

inline Comparison compared(const ValueOf& value, const std::vector<int>& workers = {4},
                           std::uint64_t seeds = 8) {
  std::vector<ComparedRun> runs;
  for (const int n : workers)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        runs.push_back(run(algorithm, seed, {{"eval_loss", value(algorithm, seed, n)}},
                           {{"workers", {{"count", n}}}}));
  return compare_runs(runs);
}

/// AD-PSGD's loss is 2 plus this and some noise, AR-SGD's 2.
inline Comparison loss_apart_by(double difference, double noise = 0.01, std::uint64_t seeds = 8,
                                const std::vector<int>& workers = {4}) {
  return compared(
      [&](const std::string& algorithm, std::uint64_t seed, int) {
        const double odd = static_cast<double>((seed * 7) % 5) - 2;
        return algorithm == "ar-sgd" ? 2.0 : 2 + difference + noise * odd;
      },
      workers, seeds);
}

inline JudgedClaim judged(const Comparison& comparison, const Claim& claim) {
  return judge_claims({&comparison}, {claim}).at(0);
}

inline ClaimVerdict verdict(const Comparison& comparison, const Claim& claim) {
  return judged(comparison, claim).verdict;
}

}  // namespace acid::claimed
