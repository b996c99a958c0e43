#pragma once

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/drivers/mpi/round_evaluator.hpp"
#include "engine/drivers/mpi/round_worker.hpp"

namespace acid {

/// One process of a synchronous run: the training thread takes its worker through the legs.
class RoundProcess final : public Process {
 public:
  RoundProcess(const Run& run, const MpiOptions& options, Post& post, RoundEvaluator* evaluator,
               Collector* collector)
      : Process(run, post, evaluator, collector),
        directives_(run.clock),
        worker_(run, options, post, directives_),
        start_(post, worker_.state(), [this](Start& start) {
          worker_.start(start);
          directives_.begin();
        }) {}

 private:
  Window& window() override { return worker_.window(); }
  void train() override { worker_.train(); }
  void deliver_own(const Mail& mail) override;
  double act() override {
    worker_.messages().send_handed_over();
    return kIdleSeconds;
  }
  bool may_leave() const override { return post_.idle(); }
  void release() override {
    directives_.close();
    worker_.messages().close();
  }

  RoundDirectives directives_;
  RoundWorker worker_;  // the training thread's
  StartReceiver start_;
};

}  // namespace acid
