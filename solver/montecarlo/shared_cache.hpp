// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace optinc {

/// The last few results of an expensive computation, by key, shared between threads. A missing
/// value is made under the lock, so it is made once and makers never run at the same time.
template <class Value>
class SharedCache {
 public:
  explicit SharedCache(std::size_t capacity) : capacity_(capacity) {}

  /// The value of `key`, made by `make()` unless it is held; the least recently used goes first.
  template <class Make>
  std::shared_ptr<const Value> get(const std::string& key, Make&& make) {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->first != key) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entries_.front().second;
    }
    auto value = std::make_shared<const Value>(make());
    entries_.emplace_front(key, value);
    if (entries_.size() > capacity_) entries_.pop_back();
    return value;
  }

 private:
  std::size_t capacity_;
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const Value>>> entries_;
};

}  // namespace optinc
