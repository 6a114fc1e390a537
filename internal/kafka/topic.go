package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicInfo describes one incarnation of a topic.
type TopicInfo struct {
	Name       string
	ID         event.TopicID
	Partitions int32
	Replicas   int               // of the partition that has fewest
	Configs    map[string]string // as in force, defaults included
}

// describe asks the brokers, not the client's cache: who asks wants to know which
// topic has the name now.
func (c *Client) describe(ctx context.Context, name string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, c.cl)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("no answer")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("%w: %s", ErrTopicMissing, name)
	case err != nil:
		return kmsg.MetadataResponseTopic{}, fmt.Errorf("kafka: describe topic %s: %w", name, err)
	}
	return resp.Topics[0], nil
}

// topicID is the id of the topic that has the name now; ErrTopicMissing if none.
func (c *Client) topicID(ctx context.Context, name string) (event.TopicID, error) {
	t, err := c.describe(ctx, name)
	return event.TopicID(t.TopicID), err
}

// Topic describes the topic; ErrTopicMissing if there is none.
func (c *Client) Topic(ctx context.Context, name string) (TopicInfo, error) {
	t, err := c.describe(ctx, name)
	if err != nil {
		return TopicInfo{}, err
	}
	info := TopicInfo{Name: name, ID: event.TopicID(t.TopicID), Partitions: int32(len(t.Partitions)), Configs: map[string]string{}}
	if info.ID == (event.TopicID{}) {
		return TopicInfo{}, fmt.Errorf("kafka: topic %s has no id (Togo needs Kafka 3.1 or newer)", name)
	}
	for _, p := range t.Partitions {
		if info.Replicas == 0 || len(p.Replicas) < info.Replicas {
			info.Replicas = len(p.Replicas)
		}
	}
	configs, err := c.adm.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return TopicInfo{}, fmt.Errorf("kafka: read the settings of topic %s: %w", name, err)
	}
	for _, rc := range configs {
		if rc.Err != nil {
			return TopicInfo{}, fmt.Errorf("kafka: read the settings of topic %s: %w", name, rc.Err)
		}
		for _, kv := range rc.Configs {
			info.Configs[kv.Key] = kv.MaybeValue()
		}
	}
	return info, nil
}
