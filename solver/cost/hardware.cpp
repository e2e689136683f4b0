// SPDX-License-Identifier: Apache-2.0
#include "solver/cost/hardware.hpp"

#include <cstdint>
#include <utility>
#include <variant>

#include "solver/config/toml_values.hpp"

namespace optinc {

namespace {

using Member = std::variant<double*, int*, bool*>;

/// A key and the member it sets.
struct HardwareKey {
  const char* path;
  Member (*member)(Hardware&);
  double minimum;
  double maximum;
  const char* unit;
  const char* description;
};

const std::vector<HardwareKey>& key_table() {
  static const std::vector<HardwareKey> table = {
      {"compute.peak_tflops", [](Hardware& h) -> Member { return &h.compute.peak_tflops; }, 1e-6,
       1e9, "TFLOP/s", "peak of a server; 60: the paper's H100"},
      {"compute.efficiency", [](Hardware& h) -> Member { return &h.compute.efficiency; }, 1e-6, 1,
       "", "share of the peak that training reaches; 0.6: the paper"},
      {"compute.overlap", [](Hardware& h) -> Member { return &h.compute.overlap; }, 0, 1, "",
       "share of the backward pass that communication can hide behind"},
      {"compute.addition_gbyte_s",
       [](Hardware& h) -> Member { return &h.compute.addition_gbyte_s; }, 0, 1e9, "GB/s",
       "gradient bytes that a machine adds per second; 0: additions take no time"},
      {"fabric.transceivers", [](Hardware& h) -> Member { return &h.fabric.transceivers; }, 1, 1e6,
       "", "full-duplex transceivers per server; 8: the paper"},
      {"fabric.transceiver_gbit_s",
       [](Hardware& h) -> Member { return &h.fabric.transceiver_gbit_s; }, 1e-6, 1e9, "Gb/s",
       "rate of each, per direction; 800: the paper"},
      {"fabric.message_us", [](Hardware& h) -> Member { return &h.fabric.message_us; }, 0, 1e9,
       "us", "latency of a message between two machines; 2: a guess, the paper has none"},
      {"fabric.switch_us", [](Hardware& h) -> Member { return &h.fabric.switch_us; }, 0, 1e9, "us",
       "latency of one way to or from a switch that adds; 1.4: half of SHARP's 2.83 us for 8 bytes "
       "(doi 10.1109/COMHPC.2016.006)"},
      {"fabric.unit_us", [](Hardware& h) -> Member { return &h.fabric.unit_us; }, 0, 1e9, "us",
       "latency of one optical unit, from transmitter to receiver; 1.4: as one way of a switch"},
      {"fabric.switch_levels", [](Hardware& h) -> Member { return &h.fabric.switch_levels; }, 1, 64,
       "", "levels of switches that add"},
      {"fabric.scale_block", [](Hardware& h) -> Member { return &h.fabric.scale_block; }, 0,
       2147483647.0, "", "elements that share one scale of OptINC's codes; 0: no scales"},
      {"fabric.scale_bits", [](Hardware& h) -> Member { return &h.fabric.scale_bits; }, 1, 64, "",
       "bits of a scale"},
      {"loss.mzi_db", [](Hardware& h) -> Member { return &h.loss.mzi_db; }, 0, 100, "dB",
       "of an MZI; 0.3: FIONA's default, 0.1 to 1.5 reported"},
      {"loss.waveguide_db_per_cm",
       [](Hardware& h) -> Member { return &h.loss.waveguide_db_per_cm; }, 0, 1000, "dB/cm",
       "1.5: silicon strip, 1.3 to 3.6 reported (Vlasov 2004)"},
      {"loss.column_pitch_um", [](Hardware& h) -> Member { return &h.loss.column_pitch_um; }, 0,
       1e6, "um", "length of a column of MZIs; 400: the layout's default"},
      {"loss.facet_db", [](Hardware& h) -> Member { return &h.loss.facet_db; }, 0, 100, "dB",
       "between chip and outside; 1.5: edge couplers (APN 4, 026004)"},
      {"loss.modulator_db", [](Hardware& h) -> Member { return &h.loss.modulator_db; }, 0, 100,
       "dB", "from the laser to the highest level; 4: a guess for silicon Mach-Zehnder modulators"},
      {"loss.combiner_db", [](Hardware& h) -> Member { return &h.loss.combiner_db; }, 0, 100, "dB",
       "excess of the combiner; 0.5: a guess"},
      {"loss.splitter_db", [](Hardware& h) -> Member { return &h.loss.splitter_db; }, 0, 100, "dB",
       "excess of the splitter that serves all servers; 0.5: a guess"},
      {"laser.power_dbm", [](Hardware& h) -> Member { return &h.link.laser_dbm; }, -100, 60, "dBm",
       "at every modulator"},
      {"laser.local_dbm", [](Hardware& h) -> Member { return &h.link.local_dbm; }, -100, 60, "dBm",
       "local oscillator of every homodyne detector"},
      {"laser.rin_db_hz", [](Hardware& h) -> Member { return &h.link.rin_db_hz; }, -300, 0, "dB/Hz",
       "relative intensity noise over the detected power; -150: a good DFB laser"},
      {"transmitter.extinction_ratio_db",
       [](Hardware& h) -> Member { return &h.link.extinction_ratio_db; }, 0.1, 100, "dB",
       "highest over lowest level; 4.5: 100G transceivers, 3.5 at least (FR4)"},
      {"transmitter.rlm", [](Hardware& h) -> Member { return &h.link.rlm; }, 0.01, 1, "",
       "level mismatch ratio, inner levels towards the middle; 0.95: the usual limit"},
      {"receiver.responsivity_a_w", [](Hardware& h) -> Member { return &h.link.responsivity_a_w; },
       1e-6, 10, "A/W", "0.8: PRJ 11, 961"},
      {"receiver.dark_na", [](Hardware& h) -> Member { return &h.link.dark_na; }, 0, 1e9, "nA",
       "10: PRJ 11, 961"},
      {"receiver.thermal_pa_rthz", [](Hardware& h) -> Member { return &h.link.thermal_pa_rthz; },
       1e-6, 1e9, "pA/sqrt(Hz)",
       "amplifier noise; 16.9: 2.76 uA in 26.6 GHz, as a 16-nm amplifier for 112G"},
      {"receiver.bandwidth_ghz", [](Hardware& h) -> Member { return &h.link.bandwidth_ghz; }, 1e-6,
       1e6, "GHz", "noise bandwidth; 26.6: half of 53.125 GBd"},
      {"receiver.adc_bits", [](Hardware& h) -> Member { return &h.link.adc_bits; }, 1, 32, "",
       "resolution of the slicer over its highest level"},
      {"receiver.required_ser", [](Hardware& h) -> Member { return &h.link.required_ser; }, 0, 0.7,
       "",
       "symbol error rate that margins refer to; 0: where digit errors equal rounding, "
       "(15/12) / (4^bits - 1)"},
      {"resnet50.image_pixels", [](Hardware& h) -> Member { return &h.resnet.image_pixels; }, 1,
       65536, "", "side of the image; 32: CIFAR"},
      {"resnet50.classes", [](Hardware& h) -> Member { return &h.resnet.classes; }, 1, 1e6, "",
       "100: CIFAR-100"},
      {"llama.layers", [](Hardware& h) -> Member { return &h.llama.layers; }, 1, 10000, "",
       "8: the paper"},
      {"llama.hidden", [](Hardware& h) -> Member { return &h.llama.hidden; }, 1, 1e6, "",
       "384: the paper"},
      {"llama.feed_forward", [](Hardware& h) -> Member { return &h.llama.feed_forward; }, 1, 1e7,
       "", "1024: 8/3 of hidden, as LLaMA"},
      {"llama.vocabulary", [](Hardware& h) -> Member { return &h.llama.vocabulary; }, 1, 1e8, "",
       "32000: LLaMA's; the paper names none"},
      {"llama.context", [](Hardware& h) -> Member { return &h.llama.context; }, 1, 1e7, "",
       "tokens of a sequence; 256: a guess"},
      {"llama.tied_embeddings", [](Hardware& h) -> Member { return &h.llama.tied_embeddings; }, 0,
       1, "", "whether embedding and output matrix are one"}};
  return table;
}

ConfigType type_of(const Member& member) {
  if (std::holds_alternative<int*>(member)) return ConfigType::integer;
  return std::holds_alternative<bool*>(member) ? ConfigType::boolean : ConfigType::real;
}

ConfigValue value_of(const Member& member) {
  if (auto* const* whole = std::get_if<int*>(&member)) return std::int64_t{**whole};
  if (auto* const* flag = std::get_if<bool*>(&member)) return **flag;
  return *std::get<double*>(member);
}

void set_value(const Member& member, const ConfigValue& value) {
  if (auto* const* whole = std::get_if<int*>(&member)) {
    **whole = static_cast<int>(std::get<std::int64_t>(value));
  } else if (auto* const* flag = std::get_if<bool*>(&member)) {
    **flag = std::get<bool>(value);
  } else {
    *std::get<double*>(member) = std::get<double>(value);
  }
}

ConfigKey config_key(const HardwareKey& entry) {
  Hardware defaults;
  const Member member = entry.member(defaults);
  return {.path = entry.path,
          .type = type_of(member),
          .default_value = value_of(member),
          .minimum = entry.minimum,
          .maximum = entry.maximum,
          .choices = {},
          .unit = entry.unit,
          .description = entry.description,
          .built = true,
          .unbuilt_choices = {}};
}

}  // namespace

std::vector<Workload> Hardware::workloads() const {
  ResnetShape small = resnet;
  small.small_stem = true;
  return {resnet50(resnet), resnet50(small), optinc::llama(llama)};
}

const std::vector<ConfigKey>& hardware_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (const HardwareKey& entry : key_table()) all.push_back(config_key(entry));
    return all;
  }();
  return keys;
}

Hardware load_hardware(const std::filesystem::path& path,
                       const std::vector<std::string>& settings) {
  ResolvedConfig values;
  if (!path.empty()) {
    toml_values::read_table(hardware_keys(), toml_values::parse_toml_file(path), path.string(),
                            values);
  }
  for (const std::string& text : settings) {
    const toml_values::Setting setting = toml_values::split_setting(text);
    const ConfigKey& key = toml_values::require_key(hardware_keys(), setting.path, setting.where());
    values.set(setting.path, toml_values::setting_value(key, setting));
  }
  Hardware hardware;
  for (const HardwareKey& entry : key_table()) {
    if (values.values().count(entry.path) == 0) continue;
    set_value(entry.member(hardware), values.values().at(entry.path));
  }
  return hardware;
}

std::vector<std::pair<std::string, ConfigValue>> hardware_values(const Hardware& hardware) {
  Hardware copy = hardware;
  std::vector<std::pair<std::string, ConfigValue>> values;
  for (const HardwareKey& entry : key_table()) {
    values.emplace_back(entry.path, value_of(entry.member(copy)));
  }
  return values;
}

}  // namespace optinc
