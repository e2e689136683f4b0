// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace optinc {

/// Threads that stay, for many short rounds of independent items.
class WorkerTeam {
 public:
  using Work = std::function<void(std::size_t item, std::size_t worker)>;

  explicit WorkerTeam(std::size_t workers) : size_(workers), gate_(static_cast<long>(workers)) {
    for (std::size_t worker = 1; worker < workers; ++worker) {
      threads_.emplace_back([this, worker] { serve(worker); });
    }
  }
  ~WorkerTeam() {
    ending_ = true;
    gate_.arrive_and_wait();
  }
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  std::size_t size() const { return size_; }

  /// Does items [0, items), each once, the calling thread as worker 0 among them. Rethrows the
  /// first exception after all workers have stopped; which items were done is then open.
  void run(std::size_t items, const Work& work) {
    work_ = &work;
    items_ = items;
    next_ = 0;
    gate_.arrive_and_wait();
    take_items(0);
    gate_.arrive_and_wait();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void serve(std::size_t worker) {
    while (true) {
      gate_.arrive_and_wait();
      if (ending_) return;
      take_items(worker);
      gate_.arrive_and_wait();
    }
  }

  void take_items(std::size_t worker) {
    try {
      for (std::size_t item = next_++; item < items_; item = next_++) (*work_)(item, worker);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = items_;
    }
  }

  std::size_t size_;
  std::barrier<> gate_;
  const Work* work_ = nullptr;
  std::size_t items_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

}  // namespace optinc
