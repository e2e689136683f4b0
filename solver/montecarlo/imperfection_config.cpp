// SPDX-License-Identifier: Apache-2.0
#include "solver/montecarlo/imperfection_config.hpp"

#include <array>
#include <initializer_list>
#include <optional>

#include "devices/decibel.hpp"
#include "solver/config/preset.hpp"
#include "solver/io/atomic_file.hpp"
#include "solver/mesh/thermal_table.hpp"

namespace optinc {

namespace {

constexpr const char* band_key = "receiver.bandwidth_ghz";

/// Reads keys below a common prefix.
class Section {
 public:
  Section(const ResolvedConfig& config, std::string prefix)
      : config_(config), prefix_(std::move(prefix)) {}

  double real(const char* key) const { return config_.real(prefix_ + key); }
  bool has(const char* key) const { return config_.has(prefix_ + key); }
  void take(const char* key, double& value) const {
    if (has(key)) value = real(key);
  }
  std::string path(const char* key) const { return prefix_ + key; }

 private:
  const ResolvedConfig& config_;
  std::string prefix_;
};

void refuse(const Section& section, std::initializer_list<const char*> keys, const char* reason) {
  for (const char* key : keys) {
    if (section.has(key)) {
      throw ConfigError(fmt::format("{} is given but {}; leave it out", section.path(key), reason));
    }
  }
}

std::optional<ThermalCrosstalk> thermal_of(const ResolvedConfig& config, const SweepConfig& sweep) {
  const Section section(config, "imperfections.crosstalk.thermal.");
  if (!section.has("model")) {
    refuse(section, {"coefficient", "decay_um", "radius_um", "table"},
           "crosstalk.thermal.model is not");
    return std::nullopt;
  }
  ThermalCrosstalk thermal;
  thermal.model = choice<ThermalCrosstalk::Model>(config, section.path("model"));
  section.take("radius_um", thermal.radius_um);
  if (thermal.model == ThermalCrosstalk::Model::exponential) {
    refuse(section, {"table"}, "the model is exponential");
    section.take("coefficient", thermal.coefficient);
    section.take("decay_um", thermal.decay_um);
    return thermal;
  }
  refuse(section, {"coefficient", "decay_um"}, "the model is a table");
  const std::filesystem::path table = sweep.find_file(config.text(section.path("table")));
  thermal.table = parse_thermal_table(read_text_file(table), table.string());
  return thermal;
}

LossParameters loss_of(const ResolvedConfig& config) {
  const Section section(config, "imperfections.loss.");
  return {.mzi_db = section.real("mzi_db"),
          .mzi_sigma_db = section.real("mzi_sigma_db"),
          .crossing_db = section.real("crossing_db"),
          .waveguide_db_per_cm = section.real("waveguide_db_per_cm"),
          .facet_db = section.real("facet_db"),
          .placement = choice<LossPlacement>(config, section.path("placement"))};
}

Detuning detuning_of(const ResolvedConfig& config) {
  const Section section(config, "imperfections.detuning.");
  return {.wavelength_nm = section.real("wavelength_nm"),
          .temperature_k = section.real("temperature_k"),
          .center_wavelength_nm = section.real("center_wavelength_nm"),
          .spectrum_shift_nm_per_k = section.real("spectrum_shift_nm_per_k"),
          .coupler_rad_per_nm = section.real("coupler_rad_per_nm")};
}

/// Keys that only mean something together.
void require_together(const Section& section, std::initializer_list<const char*> keys) {
  for (const char* given : keys) {
    if (!section.has(given)) continue;
    for (const char* needed : keys) {
      if (section.has(needed)) continue;
      throw ConfigError(fmt::format("{} is given but {} is not; give both or none",
                                    section.path(given), section.path(needed)));
    }
  }
}

PhaseDrift drift_of(const Section& section) {
  PhaseDrift drift;
  require_together(section, {"phase.drift_sigma_rad", "phase.drift_tau_s", "phase.time_s"});
  section.take("phase.drift_sigma_rad", drift.sigma_rad);
  section.take("phase.drift_tau_s", drift.tau_s);
  section.take("phase.time_s", drift.time_s);
  return drift;
}

SymbolNoise symbol_noise_of(const Section& section) {
  constexpr double hz_per_ghz = 1e9;
  SymbolNoise noise;
  section.take("amplifier.noise_sigma", noise.amplifier_sigma);
  if (section.has("laser.rin_db_hz")) {
    if (!section.has(band_key)) {
      throw ConfigError(fmt::format("{} is given but {} is not (the band of the noise); give both",
                                    section.path("laser.rin_db_hz"), section.path(band_key)));
    }
    noise.intensity_sigma =
        intensity_sigma(section.real("laser.rin_db_hz"), hz_per_ghz * section.real(band_key));
  }
  require_together(section, {"laser.linewidth_hz", "laser.path_mismatch_m"});
  if (section.has("laser.linewidth_hz")) {
    noise.laser_phase_sigma_rad = laser_phase_sigma_rad(
        section.real("laser.linewidth_hz"), fibre_delay_s(section.real("laser.path_mismatch_m")));
  }
  return noise;
}

Transmitter transmitter_of(const Section& section) {
  Transmitter transmitter;
  if (section.has("transmitter.extinction_ratio_db")) {
    transmitter.extinction_ratio_db = section.real("transmitter.extinction_ratio_db");
  }
  section.take("transmitter.rlm", transmitter.rlm);
  return transmitter;
}

MeshLayout layout_of(const ResolvedConfig& config) {
  const Section section(config, "layout.");
  return {.column_pitch_um = section.real("column_pitch_um"),
          .row_pitch_um = section.real("row_pitch_um"),
          .arm_spacing_um = section.real("arm_spacing_um"),
          .theta_offset_um = section.real("theta_offset_um"),
          .phi_offset_um = section.real("phi_offset_um")};
}

/// Noise is a current, and takes what turns digits into one.
void require_link(const Section& section) {
  constexpr std::array needed = {"laser.power_dbm", "receiver.responsivity_a_w", band_key};
  const char* missing = nullptr;
  const char* given = nullptr;
  for (const char* key : needed) {
    // Intensity noise ahead of the receiver has that band too, and needs nothing else.
    const bool elsewhere = key == band_key && section.has("laser.rin_db_hz");
    if (!section.has(key)) missing = key;
    if (section.has(key) && !elsewhere) given = key;
  }
  for (const char* key : {"splitter.excess_db", "receiver.dark_na", "receiver.thermal_pa_rthz"}) {
    if (section.has(key)) given = key;
  }
  if (given == nullptr || missing == nullptr) return;
  throw ConfigError(
      fmt::format("{} is given but {} is not (noise of the receiver needs laser.power_dbm, "
                  "receiver.responsivity_a_w and receiver.bandwidth_ghz); give it too",
                  section.path(given), section.path(missing)));
}

}  // namespace

bool acts_on_meshes(std::string_view path) {
  if (path == "imperfections.phase.jitter_realizations") return false;  // a matter of symbols
  for (const std::string_view prefix :
       {"imperfections.phase.", "imperfections.coupler.", "imperfections.loss.",
        "imperfections.crosstalk.", "imperfections.detuning.", "layout."}) {
    if (path.starts_with(prefix)) return true;
  }
  return path == preset_key;
}

ReceiverImperfections receiver_of(const ResolvedConfig& config) {
  const Section section(config, "imperfections.");
  require_link(section);
  const auto scaled = [&](const char* key, double unit, double& value) {
    if (section.has(key)) value = section.real(key) * unit;
  };
  const auto ratio = [&](const char* key, double unit, double& value) {
    if (section.has(key)) value = power_ratio(section.real(key)) * unit;
  };
  ReceiverImperfections result;
  ratio("laser.power_dbm", 1e-3, result.power_w);
  ratio("laser.rin_db_hz", 1, result.rin_per_hz);
  ratio("transmitter.extinction_ratio_db", 1, result.extinction_ratio);
  section.take("transmitter.rlm", result.rlm);
  section.take("splitter.excess_db", result.excess_db);
  section.take("receiver.responsivity_a_w", result.diode.responsivity_a_w);
  scaled("receiver.dark_na", 1e-9, result.diode.dark_current_a);
  scaled("receiver.thermal_pa_rthz", 1e-12, result.diode.thermal_a_rthz);
  if (section.has("laser.power_dbm")) {
    scaled(band_key, 1e9, result.diode.bandwidth_hz);
  }
  if (section.has("receiver.adc_bits")) {
    result.adc_bits = static_cast<int>(config.integer(section.path("receiver.adc_bits")));
  }
  return result;
}

StaticImperfections imperfections_of(const ResolvedConfig& config, const SweepConfig& sweep) {
  const Section section(config, "imperfections.");
  StaticImperfections result{
      .phase_fabrication_sigma_rad = section.real("phase.fabrication_sigma_rad"),
      .phase_on_output_screen = config.boolean(section.path("phase.on_output_screen")),
      .phase_correlation_um = section.real("phase.correlation_um"),
      .phase_dac_bits = 0,
      .coupler_sigma_rad = section.real("coupler.sigma_rad"),
      .coupler_mean_rad = section.real("coupler.mean_rad"),
      .loss = loss_of(config),
      .thermal = thermal_of(config, sweep),
      .optical_crosstalk_db = std::nullopt,
      .detuning = detuning_of(config),
      .layout = layout_of(config)};
  if (section.has("phase.dac_bits")) {
    result.phase_dac_bits = static_cast<int>(config.integer(section.path("phase.dac_bits")));
  }
  result.drift = drift_of(section);
  section.take("phase.jitter_sigma_rad", result.phase_jitter_sigma_rad);
  if (section.has("crosstalk.optical_db")) {
    result.optical_crosstalk_db = section.real("crosstalk.optical_db");
  }
  return result;
}

CombinerImperfections combiner_of(const ResolvedConfig& config) {
  const Section section(config, "imperfections.");
  return {.mode = choice<CombinerMode>(config, "combiner.mode"),
          .amplitude_sigma = section.real("combiner.amplitude_sigma"),
          .phase_sigma_rad = section.real("combiner.phase_sigma_rad"),
          .server_phase_sigma_rad = section.real("laser.server_phase_sigma_rad")};
}

SymbolEffects symbol_effects_of(const ResolvedConfig& config) {
  const Section section(config, "imperfections.");
  SymbolEffects effects{.mode = choice<CombinerMode>(config, "combiner.mode"),
                        .transmitter = transmitter_of(section),
                        .noise = symbol_noise_of(section)};
  if (effects.mode == CombinerMode::incoherent && effects.noise.laser_phase_sigma_rad != 0) {
    throw ConfigError(fmt::format(
        "{} is given but combiner.mode is \"incoherent\" (detection does not see phases); leave "
        "it out or choose \"coherent\"",
        section.path("laser.linewidth_hz")));
  }
  if (section.has("phase.jitter_sigma_rad") && section.real("phase.jitter_sigma_rad") != 0) {
    effects.jitter_realizations =
        static_cast<std::uint32_t>(config.integer(section.path("phase.jitter_realizations")));
  } else {
    refuse(section, {"phase.jitter_realizations"}, "phase.jitter_sigma_rad is not");
  }
  return effects;
}

}  // namespace optinc
