// LL128: low latency at 15/16 of the bandwidth. Every line of 128 bytes carries its own arrival; no counter, no fence.
//
//   line (128 bytes)  |  16  |  16  |  16  |  16  |  16  |  16  |  16  |  8  flag |
//                      lane 0   1      2      3      4      5      6      7 of 8       16 bytes a lane, one access each
//
//   sender, every warp                          receiver, every warp
//   ------------------                          --------------------
//   polls head: credit for step s
//   bar.warp.sync: all lanes are here
//   st.relaxed.sys.v2.u64, 4 lines  --------->  ld.relaxed.sys.u64 the lines' flags ...
//                                               ... until vote.any says that no lane misses flag(s)
//                                               ld.relaxed.sys.v2.u64 the lines, after the vote; uses the data
//                                               barrier of the CTA: all have used theirs
//   polls head <------------------------------  st.relaxed.sys head = s + 1
//
// Who writes: a slot's lines, only the sender's CTA; head, only the receiver's. Who may read when: a line, once a load
// of its flag has shown flag(s) and a vote lies between that load and the next.
//
// Why that is enough is more than the PTX ISA promises: to it, a line is 16 words of 8 bytes, which may become visible
// in any order. Three facts of the hardware carry the protocol:
//   H1. A lane's aligned access of 16 bytes is whole: the word beside the flag is of the flag's store.
//   H2. The 16-byte stores of 8 consecutive lanes of one instruction, which fill an aligned line, become visible
//       together, in local memory and over NVLink: whoever can see the flag can see the line. Not over PCIe, where the
//       planner refuses LL128. "Of one instruction" is why the warp meets before it stores.
//   H3. A strong load issued after a vote that depends on an earlier strong load is not satisfied before that one: what
//       is loaded after the vote is no older than the flags. So nothing that was loaded with a flag, or before, is
//       used.
// The lanes of a warp vote because a line is loaded by eight of them, each of which must know that it is there, and
// because they must store together again.
//
// What orders the reuse of a slot is as in LL: the receiver uses what it loaded before the barrier, head is stored
// after it, the sender writes after it has seen head.
//
// Flags. Step s uses slot s % NumSteps, and flag(s) is s + 1 in all 64 bits: never 0, which is what new memory holds,
// and never the same again. Whatever a short step leaves in its slot is older, and no line needs cleaning. (LL's lines
// do, at steps of any protocol.)
//
// Tiles. What a warp writes with two stores is a tile: two rows of 4 lines, 8 lanes each, with 960 bytes, which are 60
// packs of 16. A lane moves whole packs, though a flag takes half the room of one:
//
//             lanes 0-6      lane 7            lanes 8-14      lane 15   ...   lane 31
//   row 0    packs 0-6     7, low half  F     packs 8-14     15 low  F        31 low  F
//   row 1    packs 32-38   7, high half F     packs 39-45    15 high F        31 high F
//
// So packs 0 to 31 of the user's memory are one access of the warp, packs 32 to 59 another, in which the lanes of flags
// take no part. A chunk that ends within a tile sends the tile; the receiver knows what of it there is.
//
// ptx *_LL128:- "fence"
#ifndef NCCL_PROTO_LL128_CUH_
#define NCCL_PROTO_LL128_CUH_

#include "proto_ll.cuh"

namespace {

__device__ __forceinline__ uint64_t ll128Flag(uint64_t step) { return step + 1; }
// The step whose flag this is. To compare steps costs less than flags: the step is at hand, its flag would be kept in
// registers that are short.
__device__ __forceinline__ uint64_t ll128Step(uint64_t flag) { return flag - 1; }

struct ProtoLL128 {
  static constexpr uint32_t index = abi::ProtoLL128;

  // A tile in a slot, and the user's bytes in it.
  static constexpr uint32_t tileBytes = abi::LL128TileBytes;
  static constexpr uint32_t tileData = tileBytes / abi::LL128LineBytes * abi::LL128DataBytes;
  // Tiles that a warp has in flight: 8 words of 8 bytes a lane from each source, as in NCCL
  // (NCCL_LL128_SHMEM_ELEMS_PER_THREAD, NCCL v2.30 src/include/device.h).
  static constexpr uint32_t unroll = 2;

  // A chunk is what a slot holds, at most.
  static constexpr bool chunkIsStep = true;

  template <class T, class Op>
  static __device__ __forceinline__ void step(Cta& cta, const Op& op, const Transfer& t, Receiver& r, Sender& s) {
    // ptx *_LL128: "vote.sync.any.pred q, p, 0xffffffff"
    const auto credit = [&] { return !voteSyncAny(!s.hasCredit(1) && !s.pollCredit(1)); };
    if (!t.send || cta.warpWaitUntil(abi::ReportCredit, credit)) {
      if (cta.works()) move<T>(cta, op, t, r, s);
      if (t.send) cleanLL(cta, s, s.step, 0);
    }
    endStep(cta, t, r, s);
  }

 private:
  // The slots of a step, from the beginning of their FIFOs.
  struct Slots {
    uint32_t in, out;
  };

  // A row of a tile: 32 lanes of 16 bytes.
  static constexpr uint32_t rowBytes = abi::WarpSize * 16;
  static constexpr uint32_t lineLanes = abi::LL128LineBytes / 16;

  // Moves the tiles of this warp; stops at an aborted wait.
  template <class T, class Op>
  static __device__ __forceinline__ void move(Cta& cta, const Op& op, const Transfer& t, const Receiver& r,
                                              const Sender& s) {
    const Slots slots = {
        uint32_t(r.step) % abi::NumSteps * r.slotBytes,
        uint32_t(s.step) % abi::NumSteps * s.slotBytes,
    };
    const uint32_t warp = cta.thread / abi::WarpSize;
    const uint32_t warps = cta.workers / abi::WarpSize;
    const uint32_t whole = ((t.src | t.dst) & 15) == 0 ? t.bytes / (unroll * tileData) * unroll : 0;
    uint32_t tile = warp * unroll;
#pragma unroll 1
    for (; tile < whole; tile += warps * unroll) {
      if (!turn<T, unroll, true>(cta, op, t, r, s, slots, tile)) return;
    }
    // The rest tile by tile, the first by the warp whose turn it would be: the warps left the loop at whole, whole +
    // unroll, and so on.
    tile = whole + (tile - whole) / unroll;
    const uint32_t tiles = (t.bytes + tileData - 1) / tileData;
#pragma unroll 1
    for (; tile < tiles; tile += warps) {
      if (!turn<T, 1, false>(cta, op, t, r, s, slots, tile)) return;
    }
  }

  // Moves Tiles tiles from one on, all lanes of the warp together. Whole: the user's packs are all there, at multiples
  // of 16 bytes. False, in all lanes, if a wait was aborted.
  template <class T, uint32_t Tiles, bool Whole, class Op>
  static __device__ __forceinline__ bool turn(Cta& cta, const Op& op, const Transfer& t, const Receiver& r,
                                              const Sender& s, const Slots& slots, uint32_t tile) {
    constexpr uint32_t rows = 2 * Tiles;
    // Read in each turn: kept, all that is computed from it would be kept too, in registers that are short.
    const uint32_t lane = movTidX() % abi::WarpSize;
    const bool flagLane = lane % lineLanes == lineLanes - 1;
    // Of the lane's 16 bytes of row 0 in a slot, and of the flag of their line: slots are aligned to lines.
    const uint32_t at = tile * tileBytes + lane * 16;
    const uint32_t flagAt = at | abi::LL128DataBytes;
    // Where the lane's pack of row i lies in the chunk.
    const auto user = [&](uint32_t i) {
      const uint32_t pack = i % 2 == 0 ? lane : abi::WarpSize + lane - lane / lineLanes;
      return (tile + i / 2) * tileData + pack * 16;
    };
    // Of a definite value without src too, or compilers keep those of the turn before in registers.
    Pack<T, 16> pack[rows] = {};
    if (t.src != 0) {
#pragma unroll
      for (uint32_t i = 0; i < rows; i++) {
        if (i % 2 == 0 || !flagLane) pack[i] = loadPack<T, Whole>(t.src, user(i), t.bytes);
      }
#pragma unroll
      for (uint32_t i = 0; i < rows; i += 2) {
        toLines(pack[i], pack[i + 1], flagLane);
        pack[i] = prepare(op, pack[i]);
        pack[i + 1] = prepare(op, pack[i + 1]);
      }
    }
    if (t.recv) {
      const auto arrived = [&] {
        bool missing = false;
#pragma unroll
        for (uint32_t i = 0; i < rows; i++) {
          missing |= ll128Step(ldRelaxedSysU64(r.fifo + (slots.in + flagAt) + i * rowBytes)) != r.step;
        }
        return !voteSyncAny(missing);
      };
      if (!cta.warpWaitUntil(abi::ReportData, arrived)) return false;
      Pack<T, 16> received[rows];
#pragma unroll
      for (uint32_t i = 0; i < rows; i++) {
        uint64_t low, high;
        // ptx *_LL128: "ld.relaxed.sys.global.v2.u64 {"
        ldRelaxedSysV2U64(r.fifo + (slots.in + at) + i * rowBytes, low, high);
        received[i] = join<T>(low, high);
      }
      if (t.src != 0) {
#pragma unroll
        for (uint32_t i = 0; i < rows; i++) received[i] = reduce(op, received[i], pack[i]);
      }
#pragma unroll
      for (uint32_t i = 0; i < rows; i++) pack[i] = received[i];
    }
    if (t.finishes) {
#pragma unroll
      for (uint32_t i = 0; i < rows; i++) pack[i] = finish(op, pack[i]);
    }
    if (t.send) {
      // ptx *_LL128: "bar.warp.sync 0xffffffff"
      barWarpSync();
#pragma unroll
      for (uint32_t i = 0; i < rows; i++) {
        uint64_t low, high;
        split(pack[i], low, high);
        stRelaxedSysV2U64(s.fifo + (slots.out + at) + i * rowBytes, low, flagLane ? ll128Flag(s.step) : high);
      }
    }
    if (t.dst != 0) {
#pragma unroll
      for (uint32_t i = 0; i < rows; i += 2) {
        fromLines(pack[i], pack[i + 1], flagLane);
        storePack<T, Whole>(t.dst, user(i), t.bytes, pack[i]);
        if (!flagLane) storePack<T, Whole>(t.dst, user(i + 1), t.bytes, pack[i + 1]);
      }
    }
    return true;
  }

  // A flag's lane has one pack, in row 0: it goes into the first halves of both rows, and back.
  template <class T>
  static __device__ __forceinline__ void toLines(const Pack<T, 16>& row0, Pack<T, 16>& row1, bool flagLane) {
    uint64_t low0, high0, low1, high1;
    split(row0, low0, high0);
    split(row1, low1, high1);
    row1 = join<T>(flagLane ? high0 : low1, high1);
  }

  template <class T>
  static __device__ __forceinline__ void fromLines(Pack<T, 16>& row0, const Pack<T, 16>& row1, bool flagLane) {
    uint64_t low0, high0, low1, high1;
    split(row0, low0, high0);
    split(row1, low1, high1);
    row0 = join<T>(low0, flagLane ? low1 : high0);
  }

  // Loads the pack at `at` of the user's `bytes` bytes at `base`: what there is of it, element by element if need be.
  template <class T, bool Whole>
  static __device__ __forceinline__ Pack<T, 16> loadPack(Address base, uint32_t at, uint32_t bytes) {
    const uint32_t rest = at < bytes ? bytes - at : 0;
    if (Whole || (base % 16 == 0 && rest >= 16)) return load<T, 16>(base + at);
    return loadElements16<T>(base + at, rest);
  }

  template <class T, bool Whole>
  static __device__ __forceinline__ void storePack(Address base, uint32_t at, uint32_t bytes, const Pack<T, 16>& p) {
    const uint32_t rest = at < bytes ? bytes - at : 0;
    if (Whole || (base % 16 == 0 && rest >= 16)) {
      store(base + at, p);
    } else {
      storeElements(base + at, p, rest);
    }
  }
};

}  // namespace

#endif  // NCCL_PROTO_LL128_CUH_
