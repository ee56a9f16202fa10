package tokens_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/provider/tokens"
)

func TestTokensAreCounted(t *testing.T) {
	c := tokens.New()
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"hello world", 2},
		{"你好", 1},
		{strings.Repeat(" ", 128), 1},
	} {
		for _, when := range []string{"at first", "from what is kept"} {
			if got := c.Count(tt.text); got != tt.want {
				t.Errorf("%q %s: got %d, want %d", tt.text, when, got, tt.want)
			}
		}
	}
}

func TestACounterIsSafeForConcurrentUse(t *testing.T) {
	c := tokens.New()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				if got := c.Count(strings.Repeat("hello world\n", i%20)); got != 3*(i%20) {
					t.Errorf("got %d, want %d", got, 3*(i%20))
				}
			}
		})
	}
	group.Wait()
}

// sample is a text of a kind, in two parts that are not alike.
type sample struct {
	name          string
	first, second string
}

func samples(t *testing.T) []sample {
	halves := func(name, text string) sample {
		runes := []rune(text)
		return sample{name, string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
	}
	file := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	type row struct {
		ID    int      `json:"id"`
		Path  string   `json:"path"`
		Lines []int    `json:"lines"`
		Tags  []string `json:"tags"`
		OK    bool     `json:"ok"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	var rows []row
	for i := range 200 {
		rows = append(rows, row{i, "internal/store/part" + string(rune('a'+i%26)) + ".go", []int{random.IntN(900), random.IntN(9000)}, []string{"slow", "linux"}, i%3 == 0})
	}
	compact, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 30_000)
	for i := range noise {
		noise[i] = byte(random.IntN(256))
	}
	return []sample{
		halves("English", file("../../README.md")),
		halves("code", file("../../compaction/rule.go")),
		halves("Chinese", chinese),
		halves("Japanese", japanese),
		halves("Korean", korean),
		halves("base64", base64.StdEncoding.EncodeToString(noise)),
		halves("JSON", string(compact)),
		halves("indented JSON", string(indented)),
	}
}

const (
	chinese = `我们先把测试跑一遍，看看哪些还是失败的。数据库的迁移必须在服务启动之前完成，否则旧的客户端会读到不完整的表。
昨天的讨论里大家同意不再使用缓存，因为它让错误更难重现。请把日志的级别改成警告，并且在文档里写清楚如何恢复备份。
如果磁盘空间不够，程序应该停下来并告诉用户，而不是悄悄地丢掉最旧的记录。这一点比速度更重要。`
	japanese = `まずテストを一通り実行して、まだ失敗しているものを確認しましょう。データベースの移行はサービスを起動する前に終わらせる必要があります。
昨日の話し合いでは、エラーの再現が難しくなるため、キャッシュはもう使わないことに決めました。ログのレベルを警告に変えてください。
ディスクの空きが足りないときは、古い記録を黙って捨てるのではなく、止まって利用者に知らせるべきです。速さよりも大切なことです。`
	korean = `먼저 테스트를 한 번 돌려 보고 아직 실패하는 것이 무엇인지 확인합시다. 데이터베이스 이전은 서비스를 시작하기 전에 끝나야 합니다.
어제 회의에서 오류를 다시 만들기 어려워지므로 캐시를 더 이상 쓰지 않기로 했습니다. 로그 수준을 경고로 바꾸고 백업을 되살리는 방법을 문서에 적어 주세요.
디스크 공간이 모자라면 가장 오래된 기록을 조용히 버리지 말고 멈추어 사용자에게 알려야 합니다. 속도보다 중요한 일입니다.`
)

// request is a conversation of one turn, in which a user says these texts, with
// a report of what the provider counted behind the first.
func request(c *tokens.Counter, first, second string) []holdfast.Entry {
	said := func(text string) holdfast.UserMessage {
		return holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}
	}
	entries := []holdfast.Entry{
		{Event: holdfast.TurnStart{}},
		{Event: said(first)},
		{Event: holdfast.Usage{Purpose: holdfast.ForTurn, Input: int64(c.Count(first))}},
		{Event: said(second)},
	}
	for i := range entries {
		entries[i].Seq = int64(i + 1)
	}
	return entries
}

func unknownWindow(string) int64 { return 0 }

// The target of an estimate, as a share of what a tokenizer counts.
const least, most = 0.7, 1.5

func TestACalibratedEstimateIsOnTarget(t *testing.T) {
	c := tokens.New()
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			// As in conversations of one's own, all that was sent is known.
			const system = "You are brief."
			entries := request(c, s.first, s.second)
			sent := entries[2].Event.(holdfast.Usage)
			sent.Input += int64(c.Count(system))
			entries[2].Event = sent
			got := compaction.Estimator{Overhead: []string{system}}.Calibrated(entries, unknownWindow).Tokens(entries)
			real := c.Count(system) + c.Count(s.first) + c.Count(s.second)
			if share := float64(got) / float64(real); share < least || share > most {
				t.Errorf("estimated %d of %d: x%.2f", got, real, share)
			}
		})
	}
}

func TestPlainCharactersAreOnTargetForSomeTextsOnly(t *testing.T) {
	onTarget := map[string]bool{"English": true, "code": true, "JSON": true, "indented JSON": true}
	c := tokens.New()
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			real := c.Count(s.first + s.second)
			share := float64(compaction.Estimator{}.Text(s.first+s.second)) / float64(real)
			if on := share >= least && share <= most; on != onTarget[s.name] {
				t.Errorf("x%.2f of %d tokens: on target %v, want %v", share, real, on, onTarget[s.name])
			}
		})
	}
}

func TestTheLowerBoundIsNotAboveTheTokens(t *testing.T) {
	c := tokens.New()
	all := samples(t)
	for _, before := range all {
		for _, then := range all {
			entries := request(c, before.first, then.second)
			real := c.Count(before.first) + c.Count(then.second)
			for name, est := range map[string]compaction.Estimator{
				"plain":      {},
				"calibrated": compaction.Estimator{}.Calibrated(entries, unknownWindow),
				"tokenizer":  {Count: c.Count},
			} {
				if got := est.AtLeast(entries); got > real {
					t.Errorf("%s, %s and then %s: at least %d, but it is %d", name, before.name, then.name, got, real)
				}
			}
		}
	}
}
