#pragma once

#include <array>
#include <string_view>

namespace acid {

/// A metric's name is a contract with scripts; its unit and direction are stored and
/// shown beside it.
struct Metric {
  std::string_view name;
  std::string_view unit;  // "1" for pure numbers
  std::string_view description;
  int better;  // −1: lower is better, +1: higher is better, 0: neither
};

inline constexpr std::array kMetrics = {
    Metric{"train_loss", "1",
           "mean minibatch loss of the gradients since the last sample, each at its worker's own "
           "model on its own data: a curve, no outcome, and lowest where nobody communicates",
           0},
    Metric{"train_loss_at_mean", "1",
           "training loss of the consensus mean on a fixed sample of all workers' data", -1},
    Metric{"eval_loss", "1", "loss of the consensus mean on the test set", -1},
    Metric{"eval_accuracy", "1", "accuracy of the consensus mean on the test set", +1},
    Metric{"validation_loss", "1",
           "loss of the consensus mean on the training examples held out by task.validation", -1},
    Metric{"validation_accuracy", "1",
           "accuracy of the consensus mean on the training examples held out by task.validation",
           +1},
    Metric{"worker_loss", "1", "test loss of one worker's own model (or the mean over workers)",
           -1},
    Metric{"worker_loss_worst", "1", "largest worker_loss", -1},
    Metric{"worker_accuracy", "1",
           "test accuracy of one worker's own model (or the mean over workers)", +1},
    Metric{"worker_accuracy_worst", "1", "smallest worker_accuracy", +1},
    Metric{"worker_accuracy_spread", "1", "largest minus smallest worker_accuracy", -1},
    Metric{"consensus_distance", "1", "(1/n) sum of squared distances to the mean", -1},
    Metric{"learning_rate", "1", "step size of the last commit", 0},
    Metric{"staleness", "updates", "mean updates between a gradient's snapshot and its commit", -1},
    Metric{"idle_share", "1", "share of worker time spent waiting", -1},
    Metric{"exchanges", "1", "pairwise exchanges so far", 0},
    Metric{"bytes_sent", "bytes", "bytes sent so far, summed over workers", -1},
    Metric{"gradient_norm", "1",
           "Euclidean norm of a worker's minibatch gradient, mean over workers", 0},
};

/// nullptr when unknown.
constexpr const Metric* find_metric(std::string_view name) {
  for (const Metric& metric : kMetrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

}  // namespace acid
