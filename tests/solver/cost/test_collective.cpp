// SPDX-License-Identifier: Apache-2.0
// Collectives against simulated schedules: real messages between servers, their bytes and rounds
// counted, the averages checked.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include "solver/cost/step_time.hpp"

namespace optinc {

namespace {

/// One message: `from` sends elements [begin, end) to `to`, which adds or replaces.
struct Message {
  int from{};
  int to{};
  int begin{};
  int end{};
  bool adds{};
};

/// Servers that hold a gradient each and exchange messages in rounds.
class Schedule {
 public:
  /// `elements` per server; server s starts with s + 1 + element.
  Schedule(int servers, int elements)
      : elements_(elements),
        values_(static_cast<std::size_t>(servers), std::vector<double>(size(elements))),
        sent_(values_.size(), 0),
        added_(values_.size(), 0) {
    for (std::size_t s = 0; s < values_.size(); ++s) {
      for (std::size_t i = 0; i < values_[s].size(); ++i) {
        values_[s][i] = static_cast<double>(s + 1 + i * i);
      }
    }
  }

  /// Messages at the same time; what is sent is what the sender had before.
  void round(const std::vector<Message>& messages) {
    const std::vector<std::vector<double>> before = values_;
    int longest = 0;
    for (const Message& message : messages) {
      const std::size_t from = size(message.from);
      const std::size_t to = size(message.to);
      for (std::size_t i = size(message.begin); i < size(message.end); ++i) {
        values_[to][i] = (message.adds ? values_[to][i] : 0) + before[from][i];
      }
      const int length = message.end - message.begin;
      sent_[from] += length;
      if (message.adds) added_[to] += length;
      longest = std::max(longest, length);
    }
    ++rounds_;
    serial_ += longest;
  }

  int rounds() const { return rounds_; }
  double sent() const { return share(*std::max_element(sent_.begin(), sent_.end())); }
  double added() const { return share(*std::max_element(added_.begin(), added_.end())); }
  double serial() const { return share(serial_); }

  bool all_have_the_sum() const {
    const auto servers = static_cast<double>(values_.size());
    for (const std::vector<double>& values : values_) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double sum =
            servers * (servers + 1) / 2 + servers * static_cast<double>(i) * static_cast<double>(i);
        if (std::abs(values[i] - sum) > 1e-9) return false;
      }
    }
    return true;
  }

 private:
  static std::size_t size(int count) { return static_cast<std::size_t>(count); }
  double share(int amount) const { return static_cast<double>(amount) / elements_; }

  int elements_;
  std::vector<std::vector<double>> values_;
  std::vector<int> sent_;
  std::vector<int> added_;
  int rounds_ = 0;
  int serial_ = 0;
};

Schedule run_ring(int servers) {
  const int chunk = 2;
  Schedule schedule(servers, servers * chunk);
  for (const bool adds : {true, false}) {
    for (int step = 0; step + 1 < servers; ++step) {
      std::vector<Message> messages;
      for (int s = 0; s < servers; ++s) {
        const int part = ((s - step + (adds ? 0 : 1)) % servers + servers) % servers;
        messages.push_back({s, (s + 1) % servers, part * chunk, (part + 1) * chunk, adds});
      }
      schedule.round(messages);
    }
  }
  return schedule;
}

/// Recursive halving and doubling among the first `paired` servers, the others folded in before
/// and served after.
Schedule run_halving_doubling(int servers) {
  int paired = 1;
  while (2 * paired <= servers) paired *= 2;
  const int elements = paired * 3;
  Schedule schedule(servers, elements);
  const auto whole = [&](int from, int to, bool adds) {
    return Message{from, to, 0, elements, adds};
  };
  std::vector<Message> fold;
  std::vector<Message> unfold;
  for (int s = paired; s < servers; ++s) {
    fold.push_back(whole(s, s - paired, true));
    unfold.push_back(whole(s - paired, s, false));
  }
  if (!fold.empty()) schedule.round(fold);
  std::vector<int> begin(static_cast<std::size_t>(paired), 0);
  std::vector<int> end(static_cast<std::size_t>(paired), elements);
  for (int distance = paired / 2; distance >= 1; distance /= 2) {
    std::vector<Message> messages;
    for (int s = 0; s < paired; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const int middle = (begin[i] + end[i]) / 2;
      const bool keeps_low = (s & distance) == 0;
      messages.push_back(
          {s, s ^ distance, keeps_low ? middle : begin[i], keeps_low ? end[i] : middle, true});
      (keeps_low ? end[i] : begin[i]) = middle;
    }
    schedule.round(messages);
  }
  for (int distance = 1; distance < paired; distance *= 2) {
    std::vector<Message> messages;
    for (int s = 0; s < paired; ++s) {
      const auto i = static_cast<std::size_t>(s);
      messages.push_back({s, s ^ distance, begin[i], end[i], false});
    }
    schedule.round(messages);
    for (int s = 0; s < paired; ++s) {
      const auto i = static_cast<std::size_t>(s);
      const int length = end[i] - begin[i];
      ((s & distance) == 0 ? end[i] : begin[i]) += (s & distance) == 0 ? length : -length;
    }
  }
  if (!unfold.empty()) schedule.round(unfold);
  return schedule;
}

/// Parent of a position in the binary tree whose leaves are the odd positions; -1 for the root 0.
int tree_parent(int position, int servers) {
  if (position == 0) return -1;
  int bit = 1;
  while ((position & bit) == 0) bit *= 2;
  const int up = (position ^ bit) | (bit * 2);
  return up >= servers ? position ^ bit : up;
}

int tree_depth(int position, int servers) {
  return position == 0 ? 0 : 1 + tree_depth(tree_parent(position, servers), servers);
}

/// Up and down one tree over elements [begin, end); `server_at` names the server of a position.
void run_tree(Schedule& schedule, int servers, int begin, int end,
              const std::function<int(int)>& server_at) {
  int depth = 0;
  for (int p = 0; p < servers; ++p) depth = std::max(depth, tree_depth(p, servers));
  for (int level = depth; level >= 1; --level) {
    std::vector<Message> messages;
    for (int p = 0; p < servers; ++p) {
      if (tree_depth(p, servers) != level) continue;
      messages.push_back({server_at(p), server_at(tree_parent(p, servers)), begin, end, true});
    }
    schedule.round(messages);
  }
  for (int level = 1; level <= depth; ++level) {
    std::vector<Message> messages;
    for (int p = 0; p < servers; ++p) {
      if (tree_depth(p, servers) != level) continue;
      messages.push_back({server_at(tree_parent(p, servers)), server_at(p), begin, end, false});
    }
    schedule.round(messages);
  }
}

/// The two trees one after the other: bytes are those of the pipelined collective, rounds twice.
/// The second tree is mirrored for an even number of servers, shifted by one for an odd one.
Schedule run_double_tree(int servers) {
  Schedule schedule(servers, 8);
  run_tree(schedule, servers, 0, 4, [](int p) { return p; });
  run_tree(schedule, servers, 4, 8,
           [&](int p) { return servers % 2 == 0 ? servers - 1 - p : (p + 1) % servers; });
  return schedule;
}

Schedule run_parameter_server(int servers) {
  // The last one is the parameter server and has a gradient of its own, which takes the place of
  // one worker's.
  Schedule schedule(servers + 1, 4);
  for (int s = 0; s < servers; ++s) schedule.round({{s, servers, 0, 4, true}});
  for (int s = 0; s < servers; ++s) schedule.round({{servers, s, 0, 4, false}});
  return schedule;
}

CollectiveCost cost(Collective collective, int servers, int switch_levels = 1) {
  return collective_cost(collective, servers, {.switch_levels = switch_levels}).value();
}

void check_cost(const CollectiveCost& expected, const Schedule& schedule) {
  CHECK(schedule.all_have_the_sum());
  CHECK(expected.sent == Approx(schedule.sent()));
  CHECK(expected.added == Approx(schedule.added()));
}

}  // namespace

TEST_CASE("ring and halving-doubling cost what their schedules do") {
  for (int servers = 2; servers <= 16; ++servers) {
    INFO(servers);
    for (const auto& [collective, schedule] :
         {std::pair{Collective::ring, run_ring(servers)},
          std::pair{Collective::halving_doubling, run_halving_doubling(servers)}}) {
      const CollectiveCost expected = cost(collective, servers);
      check_cost(expected, schedule);
      CHECK(expected.serial == Approx(schedule.serial()));
      CHECK(expected.messages == schedule.rounds());
    }
  }
}

TEST_CASE("the double tree costs what its schedule does") {
  for (int servers = 2; servers <= 16; ++servers) {
    INFO(servers);
    const Schedule schedule = run_double_tree(servers);
    const CollectiveCost expected = cost(Collective::double_tree, servers);
    check_cost(expected, schedule);
    CHECK(2 * expected.messages == schedule.rounds());
    CHECK(expected.serial == expected.sent);
  }
}

TEST_CASE("a parameter server takes and returns every gradient over one link") {
  for (int servers = 2; servers <= 16; ++servers) {
    const Schedule schedule = run_parameter_server(servers);
    const CollectiveCost expected = cost(Collective::parameter_server, servers);
    CHECK(schedule.all_have_the_sum());
    CHECK(expected.sent == 1);
    CHECK(expected.serial == Approx(schedule.serial()));
    CHECK(expected.added == Approx(schedule.added() - 1));
  }
}

TEST_CASE("traffic of the paper: 1.5, 1.75 and 1.875 against 1") {
  CHECK(cost(Collective::ring, 4).sent == 1.5);
  CHECK(cost(Collective::ring, 8).sent == 1.75);
  CHECK(cost(Collective::ring, 16).sent == 1.875);
  for (const int servers : {4, 8, 16}) CHECK(cost(Collective::optinc, servers).sent == 1);
  CHECK(cost(Collective::optinc_cascade, 16).sent == 1);
  CHECK(cost(Collective::optinc_cascade, 16).unit_passes == 2);
  CHECK(cost(Collective::in_network, 4, 3).switch_passes == 6);
}

TEST_CASE("units of a cascade") {
  CHECK(cascade_units(16) == 5);
  CHECK(cascade_units(4) == 3);
  CHECK(cascade_units(64) == 9);
  for (const int servers : {2, 3, 5, 8, 15, 17}) CHECK(cascade_units(servers) == 0);
  CHECK(cascade_units(65 * 65) == 0);
  CHECK_FALSE(collective_cost(Collective::optinc_cascade, 8, {}).has_value());
  CHECK_FALSE(collective_cost(Collective::optinc, 65, {}).has_value());
  CHECK(collective_cost(Collective::optinc_cascade, 4096, {}).has_value());
}

TEST_CASE("communication times by hand") {
  // 8 transceivers of 800 Gb/s carry 8e11 bytes/s: 8e6 elements of 16 bits take 20 us per pass.
  Fabric fabric;
  fabric.message_us = 3;
  fabric.switch_us = 0.5;
  fabric.unit_us = 0.25;
  fabric.scale_block = 1000;
  fabric.scale_bits = 32;
  ComputeHardware compute;
  const auto time_us = [&](Collective collective, int servers) {
    return 1e6 * communication_time_s(collective, servers, 8e6, 16, fabric, compute).value();
  };
  CHECK(time_us(Collective::ring, 4) == Approx(6 * 3 + 1.5 * 20));
  CHECK(time_us(Collective::halving_doubling, 4) == Approx(4 * 3 + 1.5 * 20));
  CHECK(time_us(Collective::double_tree, 8) == Approx(6 * 3 + 2 * 20));
  CHECK(time_us(Collective::parameter_server, 4) == Approx(2 * 3 + 8 * 20));
  CHECK(time_us(Collective::in_network, 4) == Approx(2 * 0.5 + 20));
  // 8000 scales of 4 bytes take 0.04 us.
  CHECK(time_us(Collective::optinc, 4) == Approx(2 * 0.25 + 20 + 0.04));
  CHECK(time_us(Collective::optinc_cascade, 16) == Approx(4 * 0.25 + 20 + 0.04));
  fabric.scale_block = 0;
  CHECK(time_us(Collective::optinc, 4) == Approx(0.25 + 20));
  compute.addition_gbyte_s = 1000;
  CHECK(time_us(Collective::ring, 4) == Approx(6 * 3 + 1.5 * 20 + 0.75 * 16));
  CHECK(time_us(Collective::optinc, 4) == Approx(0.25 + 20));
  fabric.switch_levels = 2;
  CHECK(time_us(Collective::in_network, 4) == Approx(4 * 0.5 + 20));
  fabric.transceivers = 4;
  CHECK(time_us(Collective::in_network, 4) == Approx(4 * 0.5 + 40));
}

TEST_CASE("communication hides behind the backward pass") {
  CHECK(step_time_s(3, 2, 0) == 5);
  CHECK(step_time_s(3, 2, 1) == 3);
  CHECK(step_time_s(3, 2, 0.5) == 4);
  CHECK(step_time_s(3, 0.5, 0.5) == 3);
}

TEST_CASE("the compute time for a reduction gives that reduction") {
  const double ring_s = 3;
  for (const double unit_s : {0.5, 1.0, 2.0}) {
    for (const double overlap : {0.0, 0.3, 0.7, 1.0}) {
      for (const double reduction : {0.01, 0.17, 0.25, 0.33, 0.6, 0.9}) {
        INFO(unit_s << " " << overlap << " " << reduction);
        const std::optional<double> compute_s =
            compute_time_for_reduction_s(ring_s, unit_s, reduction, overlap);
        CHECK(compute_s.has_value() == (reduction < 1 - unit_s / ring_s));
        if (!compute_s) continue;
        CHECK(*compute_s > 0);
        const double ratio =
            step_time_s(*compute_s, unit_s, overlap) / step_time_s(*compute_s, ring_s, overlap);
        CHECK(1 - ratio == Approx(reduction));
      }
    }
  }
}

TEST_CASE("models have the sizes that are known of them") {
  // torchvision's resnet50 on ImageNet: 25,557,032 parameters, 4.09e9 multiply-adds.
  const Workload imagenet = resnet50({.image_pixels = 224, .classes = 1000, .small_stem = false});
  CHECK(imagenet.parameters == 25557032);
  CHECK(imagenet.forward_flops == Approx(2 * 4.09e9).epsilon(0.002));
  // For CIFAR-100 with a 3x3 stem: 23,705,252 parameters, 1.3e9 multiply-adds.
  const Workload cifar = resnet50({.image_pixels = 32, .classes = 100, .small_stem = true});
  CHECK(cifar.parameters == 23705252);
  CHECK(cifar.forward_flops == Approx(2 * 1.3e9).epsilon(0.01));
  CHECK(cifar.step_flops() == 3 * cifar.forward_flops);
  // LLaMA-7B: 6,738,415,616 parameters.
  const LlamaShape seven_billion{.layers = 32,
                                 .hidden = 4096,
                                 .feed_forward = 11008,
                                 .vocabulary = 32000,
                                 .context = 2048,
                                 .tied_embeddings = false};
  CHECK(llama(seven_billion).parameters == 6738415616);
  // About 2 operations per parameter and token, the input embedding aside, and attention.
  const double per_token = llama(seven_billion).forward_flops / 2048;
  CHECK(per_token ==
        Approx(2 * (6738415616.0 - 4096 * 32000) + 4.0 * 32 * 2048 * 4096).epsilon(1e-3));
  LlamaShape tied;
  tied.tied_embeddings = true;
  CHECK(llama({}).parameters - llama(tied).parameters == 384 * 32000);
  CHECK(ComputeHardware().compute_time_s(cifar, 2) == Approx(2 * cifar.step_flops() / 36e12));
}

}  // namespace optinc
