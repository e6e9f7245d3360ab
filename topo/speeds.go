package topo

// What a channel may carry inside a host and to the network, GB/s, by compute
// capability, fastest first (speedArrayIntra, speedArrayInter and their
// variants, NCCL v2.30 src/graph/search.cc).
var (
	intraSpeeds = []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
	interSpeeds = []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}

	intraSpeedsSM90 = []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	interSpeedsSM90 = []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}

	intraSpeedsSM100 = []float32{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
	interSpeedsSM100 = []float32{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
)

// channelSpeeds returns the speeds that a search tries.
func channelSpeeds(minSM int, inter bool) []float32 {
	switch {
	case minSM >= 100 && inter:
		return interSpeedsSM100
	case minSM >= 100:
		return intraSpeedsSM100
	case minSM >= 90 && inter:
		return interSpeedsSM90
	case minSM >= 90:
		return intraSpeedsSM90
	case inter:
		return interSpeeds
	default:
		return intraSpeeds
	}
}
