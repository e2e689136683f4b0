// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace optinc {

/// Computes items on worker threads and hands the results out in the order of their index, so that
/// nothing depends on the number of workers.
template <class Result>
class OrderedRun {
 public:
  using Work = std::function<Result(std::uint64_t index)>;
  using Emit = std::function<std::uint64_t(std::uint64_t index, Result result)>;

  /// Args: work, called on the workers; emit, called on the thread that calls `run`, returns the
  /// index of the next item wanted: index + 1, or more to leave items out.
  OrderedRun(unsigned workers, Work work, Emit emit)
      : workers_(workers), work_(std::move(work)), emit_(std::move(emit)) {}

  /// Runs items [first, end); workers are at most 4 x workers items ahead of what was emitted.
  /// `stop_requested` is asked at least ten times a second; once it says so no new item is started
  /// and those that were are still emitted. What happens to items left out has no effect. The
  /// exception of an item is rethrown when its turn comes. Returns the index of the next item
  /// wanted.
  std::uint64_t run(std::uint64_t first, std::uint64_t end,
                    const std::function<bool()>& stop_requested) {
    next_ = first;
    emitted_ = first;
    end_ = end;
    stopping_ = false;
    std::vector<std::jthread> threads;
    const StopOnExit stop_before_join(*this);
    for (unsigned i = 0; i < workers_; ++i) threads.emplace_back([this] { work_until_stopped(); });
    emit_until_done(stop_requested);
    return emitted_;
  }

 private:
  using Outcome = std::variant<Result, std::exception_ptr>;

  /// Wakes the workers up to end, before the threads that were declared earlier are joined.
  struct StopOnExit {
    explicit StopOnExit(OrderedRun& owner) : run(owner) {}
    ~StopOnExit() { run.stop(); }
    StopOnExit(const StopOnExit&) = delete;
    StopOnExit& operator=(const StopOnExit&) = delete;
    OrderedRun& run;
  };

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    may_start_.notify_all();
  }

  void work_until_stopped() {
    std::unique_lock lock(mutex_);
    while (true) {
      may_start_.wait(lock, [this] {
        return stopping_ || next_ == end_ || next_ < emitted_ + 4 * std::uint64_t{workers_};
      });
      if (stopping_ || next_ == end_) return;
      const std::uint64_t index = next_++;
      lock.unlock();
      Outcome outcome = compute(index);
      lock.lock();
      if (index >= emitted_) outcomes_.emplace(index, std::move(outcome));
      is_done_.notify_one();
    }
  }

  Outcome compute(std::uint64_t index) const {
    try {
      return work_(index);
    } catch (...) {
      return std::current_exception();
    }
  }

  void emit_until_done(const std::function<bool()>& stop_requested) {
    constexpr auto poll_interval = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    while (emitted_ != end_ && !(stopping_ && emitted_ == next_)) {
      is_done_.wait_for(lock, poll_interval, [this] { return outcomes_.count(emitted_) != 0; });
      auto node = outcomes_.extract(emitted_);
      lock.unlock();
      const std::uint64_t wanted =
          node.empty() ? emitted_ : emit(node.key(), std::move(node.mapped()));
      const bool stop_now = stop_requested();
      lock.lock();
      skip_to(wanted);
      stopping_ = stopping_ || stop_now;
      may_start_.notify_all();
    }
  }

  std::uint64_t emit(std::uint64_t index, Outcome outcome) const {
    if (auto* error = std::get_if<std::exception_ptr>(&outcome)) std::rethrow_exception(*error);
    return emit_(index, std::move(std::get<Result>(outcome)));
  }

  /// Forgets the items before `wanted`, done or not.
  void skip_to(std::uint64_t wanted) {
    emitted_ = wanted;
    next_ = std::max(next_, wanted);
    outcomes_.erase(outcomes_.begin(), outcomes_.lower_bound(wanted));
  }

  unsigned workers_;
  Work work_;
  Emit emit_;
  std::mutex mutex_;
  std::condition_variable may_start_;
  std::condition_variable is_done_;
  std::uint64_t next_ = 0;     ///< first item that no worker has taken
  std::uint64_t emitted_ = 0;  ///< first item that was not emitted
  std::uint64_t end_ = 0;
  bool stopping_ = false;
  std::map<std::uint64_t, Outcome> outcomes_;  ///< done, not emitted
};

}  // namespace optinc
